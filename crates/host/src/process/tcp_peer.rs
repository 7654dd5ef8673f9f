//! The descendant at the other end of a local TCP connection. The kernel lists connections with the numbers of their
//! sockets, and each process the sockets that it has open.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

use rustix::process::Pid;

use super::descendants::descendants;

/// Returns a process at or below one of `roots` that holds the other end of the connection between `local`, which is the
/// end of this process, and `remote`. `None` for another process, or another machine.
pub fn peer_below(roots: &[u32], local: SocketAddr, remote: SocketAddr) -> Option<u32> {
    if !local.ip().to_canonical().is_loopback() && local.ip() != remote.ip() {
        return None;
    }
    let roots = roots.iter().filter_map(|pid| Pid::from_raw(i32::try_from(*pid).ok()?));
    let below: Vec<Pid> = roots.flat_map(descendants).map(|process| process.pid).collect();
    if below.is_empty() {
        return None;
    }
    let socket = format!("socket:[{}]", socket_of(remote, local)?);
    let holder = below.into_iter().find(|pid| holds(*pid, &socket))?;
    u32::try_from(holder.as_raw_nonzero().get()).ok()
}

/// Returns the number of the socket that is bound to `near` and connected to `far`.
fn socket_of(near: SocketAddr, far: SocketAddr) -> Option<u64> {
    let wanted = (plain(near), plain(far));
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"];
    tables.into_iter().filter_map(|table| std::fs::read_to_string(table).ok()).find_map(|table| {
        table.lines().skip(1).find_map(|line| {
            let fields: Vec<&str> = line.split_ascii_whitespace().collect();
            let ends = (address(fields.get(1)?)?, address(fields.get(2)?)?);
            if ends == wanted { fields.get(9)?.parse().ok() } else { None }
        })
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

fn holds(pid: Pid, socket: &str) -> bool {
    std::fs::read_dir(format!("/proc/{pid}/fd")).is_ok_and(|mut files| {
        files.any(|file| {
            file.is_ok_and(|file| std::fs::read_link(file.path()).is_ok_and(|to| to == Path::new(socket)))
        })
    })
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::{address, holds, socket_of};

    #[test]
    fn a_connection_is_found_by_its_ends() {
        for place in ["127.0.0.1:0", "[::1]:0", "[::ffff:127.0.0.1]:0"] {
            let listener = TcpListener::bind(place).unwrap();
            let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (_far, remote) = listener.accept().unwrap();
            let socket = socket_of(remote, listener.local_addr().unwrap()).unwrap();
            let own = rustix::process::getpid();
            assert!(holds(own, &format!("socket:[{socket}]")), "{place}");
            drop(near);
        }
    }

    #[test]
    fn what_is_no_address_is_none() {
        for text in ["", "0100007F", "0100007F:", "0100:1F90", "zzzzzzzz:1F90", "é100007F:0001"] {
            assert_eq!(address(text), None, "{text}");
        }
    }
}
