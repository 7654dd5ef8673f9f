//! One TCP connection of this machine, by the kernel's socket diagnostics (`sock_diag(7)`). The tables in `/proc` list all
//! connections, so they take longer the more there are. Three structures of fixed size need no crate for netlink.

use std::net::IpAddr;

/// `SOCK_DIAG_BY_FAMILY`, the type of a request and of its answer.
const BY_FAMILY: u16 = 20;

/// `NLM_F_REQUEST`. Without `NLM_F_DUMP` the kernel looks up a single connection.
const REQUEST: u16 = 1;

/// `IPPROTO_TCP`.
const TCP: u8 = 6;

/// Bytes of `nlmsghdr` and `inet_diag_req_v2`.
const REQUEST_BYTES: u32 = 72;

/// Bytes of `nlmsghdr` and `inet_diag_msg`; attributes follow.
const ANSWER_BYTES: usize = 88;

/// One end of a connection, as the kernel sees it.
pub(super) struct End {
    /// The number of its state, as in `/proc/net/tcp`.
    pub(super) state: u8,
    /// Bytes that the other end has not acknowledged.
    pub(super) unacknowledged: u32,
    /// The number of its socket; 0 if no process holds it.
    pub(super) inode: u32,
}

/// Returns the end at `near` of the connection to `far`. `None` if there is none, or if the kernel does not answer, as in
/// some sandboxes.
#[cfg(target_os = "linux")]
pub(super) fn find(near: (IpAddr, u16), far: (IpAddr, u16)) -> Option<End> {
    use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
    let protocol = Some(rustix::net::netlink::SOCK_DIAG);
    let socket =
        rustix::net::socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, protocol)
            .ok()?;
    rustix::net::send(&socket, &request(near, far), SendFlags::empty()).ok()?;
    let mut answer = [0; 1024];
    // The kernel has answered before it returns from `send`.
    let (read, _) = rustix::net::recv(&socket, &mut answer, RecvFlags::DONTWAIT).ok()?;
    // Where there is no such connection, the kernel may answer with the listener of the port.
    parse(answer.get(..read)?).filter(|(ports, _)| *ports == (near.1, far.1)).map(|(_, end)| end)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn find(_near: (IpAddr, u16), _far: (IpAddr, u16)) -> Option<End> {
    None
}

fn request(near: (IpAddr, u16), far: (IpAddr, u16)) -> Vec<u8> {
    let address = |ip: IpAddr| match ip {
        IpAddr::V4(ip) => {
            let mut bytes = [0; 16];
            bytes[..4].copy_from_slice(&ip.octets());
            bytes
        }
        IpAddr::V6(ip) => ip.octets(),
    };
    let family = if near.0.is_ipv4() { 2 } else { 10 };
    let mut bytes = Vec::with_capacity(REQUEST_BYTES as usize);
    bytes.extend(REQUEST_BYTES.to_ne_bytes());
    bytes.extend([BY_FAMILY.to_ne_bytes(), REQUEST.to_ne_bytes()].concat());
    // The number of the message and of the sender.
    bytes.extend([0; 8]);
    // No attributes, and every state.
    bytes.extend([family, TCP, 0, 0]);
    bytes.extend([0xff; 4]);
    bytes.extend([near.1.to_be_bytes(), far.1.to_be_bytes()].concat());
    bytes.extend([address(near.0), address(far.0)].concat());
    // Any network interface, and any cookie.
    bytes.extend([0; 4]);
    bytes.extend([0xff; 8]);
    bytes
}

/// Returns the near and the far port of an answer, and its end.
fn parse(answer: &[u8]) -> Option<((u16, u16), End)> {
    let answer: &[u8; ANSWER_BYTES] = answer.first_chunk()?;
    let word = |at: usize| u32::from_ne_bytes([answer[at], answer[at + 1], answer[at + 2], answer[at + 3]]);
    let port = |at: usize| u16::from_be_bytes([answer[at], answer[at + 1]]);
    let is_found = u16::from_ne_bytes([answer[4], answer[5]]) == BY_FAMILY;
    let end = End { state: answer[17], unacknowledged: word(76), inode: word(84) };
    is_found.then_some(((port(20), port(22)), end))
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn one_connection_is_found_without_the_tables_of_all() {
        for place in ["127.0.0.1:0", "[::1]:0", "[::ffff:127.0.0.1]:0"] {
            let listener = TcpListener::bind(place).unwrap();
            let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (_far, remote) = listener.accept().unwrap();
            let plain = |at: std::net::SocketAddr| (at.ip().to_canonical(), at.port());
            let (here, there) = (plain(listener.local_addr().unwrap()), plain(remote));
            let end = find(here, there).unwrap();
            assert!((end.state, end.unacknowledged) == (1, 0) && end.inode > 0, "{place}");
            assert!(find(there, here).unwrap().inode != end.inode, "{place}");
            // The listener itself is not that connection.
            assert!(find(here, (there.0, 1)).is_none(), "{place}");
            drop(near);
        }
    }

    #[test]
    fn an_answer_that_is_none_is_not_read() {
        assert!(parse(&[0; ANSWER_BYTES - 1]).is_none());
        let mut error = [0; ANSWER_BYTES];
        error[4] = 2;
        assert!(parse(&error).is_none());
    }
}
