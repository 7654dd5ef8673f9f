//! The process at the other end of a TCP connection of this machine. The kernel lists connections with the number of
//! their socket, and each process the sockets that it has open.

use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use rustix::process::Pid;

use super::descendants::{descendants, newest_first};
use super::sock_diag;

/// The kernel's tables of TCP connections.
const TABLES: [&str; 2] = ["/proc/net/tcp", "/proc/net/tcp6"];

/// The state of an end that closed first, in order.
const TIME_WAIT: u8 = 6;

/// The two ends of a connection: that of this process, and the remote one.
type Ends = (SocketAddr, SocketAddr);

/// Two ends as the kernel's tables name them.
type PlainEnds = ((IpAddr, u16), (IpAddr, u16));

/// Returns a process at or below one of `roots` that holds the other end of the connection between `local`, which is
/// the end of this process, and `remote`. `None` for another process, or another machine.
pub fn peer_below(roots: &[u32], local: SocketAddr, remote: SocketAddr) -> Option<u32> {
    let roots = roots.iter().filter_map(|pid| Pid::from_raw(i32::try_from(*pid).ok()?));
    let below: Vec<Pid> = roots.flat_map(descendants).map(|process| process.pid).collect();
    if below.is_empty() {
        return None;
    }
    let sockets: HashSet<PathBuf> = sockets_of(&[(local, remote)]).into_values().collect();
    let holder = below.into_iter().find(|pid| !sockets_held(*pid, &sockets).is_empty())?;
    u32::try_from(holder.as_raw_nonzero().get()).ok()
}

/// The processes at the other ends of connections.
#[derive(Debug, Default)]
pub struct Peers {
    /// Their ids, each with the position of a connection that it holds. Several may hold one.
    pub processes: Vec<(u32, usize)>,
    /// The positions of the connections of this machine that no visible process holds: its process has closed it, has
    /// ended, or hides its files.
    pub unseen: Vec<usize>,
}

/// Finds the processes that hold the other ends of these connections, each given with this process's end first. A
/// connection to another machine has none. Without a table of connections none is unseen.
pub fn peers(connections: &[Ends]) -> Peers {
    let names = sockets_of(connections);
    let socket = |ends: &Ends| names.get(&seen_from_there(ends));
    let sockets: HashSet<PathBuf> = names.values().cloned().collect();
    let mut held = HashSet::new();
    let mut peers = Peers::default();
    for process in newest_first() {
        let Ok(pid) = u32::try_from(process.id()) else { continue };
        for name in sockets_held(process.pid, &sockets) {
            let at = connections.iter().position(|ends| socket(ends) == Some(&name));
            peers.processes.extend(at.map(|at| (pid, at)));
            held.insert(name);
        }
    }
    let is_unseen = |ends: &Ends| is_local(ends) && socket(ends).is_none_or(|name| !held.contains(name));
    if TABLES.iter().any(|table| Path::new(table).exists()) {
        peers.unseen = (0..connections.len()).filter(|at| is_unseen(&connections[*at])).collect();
    }
    peers
}

fn is_local((local, remote): &Ends) -> bool {
    local.ip().to_canonical().is_loopback() || local.ip() == remote.ip()
}

fn seen_from_there((local, remote): &Ends) -> PlainEnds {
    (plain(*remote), plain(*local))
}

/// Returns the names that a process's folder in `/proc` gives to the sockets at the other ends of these connections.
fn sockets_of(connections: &[Ends]) -> HashMap<PlainEnds, PathBuf> {
    let mut wanted: HashSet<_> =
        connections.iter().filter(|ends| is_local(ends)).map(seen_from_there).collect();
    let mut sockets = HashMap::new();
    wanted.retain(|ends| {
        let found = sock_diag::find(ends.0, ends.1);
        sockets.extend(found.iter().map(|end| (*ends, PathBuf::from(format!("socket:[{}]", end.inode)))));
        found.is_none()
    });
    if wanted.is_empty() {
        return sockets;
    }
    for table in tables() {
        sockets.extend(table.lines().skip(1).filter_map(|line| {
            let fields: Vec<&str> = line.split_ascii_whitespace().collect();
            let ends = (address(fields.get(1)?)?, address(fields.get(2)?)?);
            wanted
                .contains(&ends)
                .then(|| Some((ends, PathBuf::from(format!("socket:[{}]", fields.get(9)?)))))?
        }));
    }
    sockets
}

/// Returns the number of bytes that this process sent from `local` and that `remote` has not acknowledged. `None` if
/// the connection was broken; 0 on a system that does not list its connections.
pub fn unacknowledged_bytes(local: SocketAddr, remote: SocketAddr) -> Option<u64> {
    if let Some(end) = sock_diag::find(plain(local), plain(remote)) {
        return Some(end.unacknowledged.into());
    }
    if sock_diag::find(plain(remote), plain(local)).is_some_and(|end| end.state == TIME_WAIT) {
        return Some(0);
    }
    // The kernel lists connections while they change, so one that closes at this moment may be in no table that is read.
    // Once it has closed in order, it stays listed for a minute.
    listed_bytes(local, remote).or_else(|| listed_bytes(local, remote))
}

/// Reads the tables once, as [`unacknowledged_bytes`].
fn listed_bytes(local: SocketAddr, remote: SocketAddr) -> Option<u64> {
    let tables = tables();
    if tables.is_empty() {
        return Some(0);
    }
    let queue = |row: &[&str]| u64::from_str_radix(row.get(4)?.split_once(':')?.0, 16).ok();
    if let Some(queue) = tables.iter().find_map(|table| find(table, local, remote, queue)) {
        return Some(queue);
    }
    // This process's end is closed. After a reset the other end is not listed either; an end on another machine never
    // is.
    let listed = remote.ip().to_canonical().is_loopback() || local.ip() == remote.ip();
    let closed = |row: &[&str]| (u8::from_str_radix(row.get(3)?, 16) == Ok(TIME_WAIT)).then_some(());
    let in_order = !listed || tables.iter().any(|table| find(table, remote, local, closed).is_some());
    in_order.then_some(0)
}

/// Reads the kernel's tables of TCP connections.
fn tables() -> Vec<String> {
    TABLES.iter().filter_map(|table| std::fs::read_to_string(table).ok()).collect()
}

/// Finds the row of the connection from `near` to `far`, and returns what `read` finds in its fields.
fn find<T>(table: &str, near: SocketAddr, far: SocketAddr, read: impl Fn(&[&str]) -> Option<T>) -> Option<T> {
    let wanted = (plain(near), plain(far));
    table.lines().skip(1).find_map(|line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let ends = (address(fields.get(1)?)?, address(fields.get(2)?)?);
        if ends == wanted { read(&fields) } else { None }
    })
}

fn plain(address: SocketAddr) -> (IpAddr, u16) {
    (address.ip().to_canonical(), address.port())
}

/// Reads an address of the kernel's table: words in hexadecimal, in the byte order of the machine, and the port.
fn address(text: &str) -> Option<(IpAddr, u16)> {
    let (words, port) = text.split_once(':')?;
    let word = |at: usize| u32::from_str_radix(words.get(at * 8..at * 8 + 8)?, 16).ok().map(u32::to_ne_bytes);
    let ip = match words.len() {
        8 => IpAddr::V4(Ipv4Addr::from(word(0)?)),
        32 => {
            let bytes = [word(0)?, word(1)?, word(2)?, word(3)?].concat();
            IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?)).to_canonical()
        }
        _ => return None,
    };
    Some((ip, u16::from_str_radix(port, 16).ok()?))
}

/// Returns those of `sockets` that a process holds.
fn sockets_held(pid: Pid, sockets: &HashSet<PathBuf>) -> Vec<PathBuf> {
    if sockets.is_empty() {
        return Vec::new();
    }
    let files = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten();
    files
        .filter_map(|file| std::fs::read_link(file.ok()?.path()).ok())
        .filter(|to| sockets.contains(to))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use std::io::{Read, Write};
    use std::time::{Duration, Instant};

    use super::{address, peers, unacknowledged_bytes};

    #[test]
    fn a_connection_is_found_by_its_ends() {
        for place in ["127.0.0.1:0", "[::1]:0", "[::ffff:127.0.0.1]:0"] {
            let listener = TcpListener::bind(place).unwrap();
            let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (_far, remote) = listener.accept().unwrap();
            let ends = [(listener.local_addr().unwrap(), remote)];
            let found = peers(&ends);
            assert!(
                found.processes.contains(&(std::process::id(), 0)) && found.unseen.is_empty(),
                "{place}: {found:?}"
            );
            drop(near);
            assert_eq!(peers(&ends).unseen, [0], "{place}: nobody holds it any more");
        }
    }

    #[test]
    fn bytes_are_acknowledged_or_the_connection_was_broken() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let local = listener.local_addr().unwrap();
        let open = || {
            let far = TcpStream::connect(local).unwrap();
            let (near, remote) = listener.accept().unwrap();
            (near, far, remote)
        };
        let becomes = |remote, wanted: Option<u64>| {
            let end = Instant::now() + Duration::from_secs(10);
            while unacknowledged_bytes(local, remote) != wanted {
                assert!(Instant::now() < end, "{:?}", unacknowledged_bytes(local, remote));
                std::thread::yield_now();
            }
        };
        let (mut near, mut far, remote) = open();
        near.write_all(b"answer").unwrap();
        becomes(remote, Some(0));
        // The other end reads everything and closes first.
        far.read_exact(&mut [0; 6]).unwrap();
        drop(far);
        drop(near);
        becomes(remote, Some(0));
        // It closes with the answer unread: its kernel resets the connection.
        let (mut near, far, remote) = open();
        near.write_all(b"answer").unwrap();
        becomes(remote, Some(0));
        drop(far);
        drop(near);
        becomes(remote, None);
    }

    #[test]
    fn a_connection_that_closes_in_order_is_never_taken_for_a_broken_one() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let local = listener.local_addr().unwrap();
        for _ in 0..500 {
            let mut far = TcpStream::connect(local).unwrap();
            let (mut near, remote) = listener.accept().unwrap();
            near.write_all(b"answer").unwrap();
            far.read_exact(&mut [0; 6]).unwrap();
            let closes = std::thread::spawn(move || {
                drop(far);
                // The end of the input, after which an HTTP server closes its end.
                assert_eq!(near.read(&mut [0; 1]).unwrap(), 0);
            });
            while !closes.is_finished() {
                assert_eq!(unacknowledged_bytes(local, remote).map(|bytes| bytes <= 1), Some(true));
            }
            closes.join().unwrap();
            assert_eq!(unacknowledged_bytes(local, remote), Some(0));
        }
    }

    #[test]
    fn what_is_no_address_is_none() {
        for text in ["", "0100007F", "0100007F:", "0100:1F90", "zzzzzzzz:1F90", "é100007F:0001"] {
            assert_eq!(address(text), None, "{text}");
        }
    }
}
