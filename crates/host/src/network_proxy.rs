//! Proxy of a run without a network: it opens connections to allowed hosts, and to no others.
//!
//! It understands `CONNECT` and requests with a whole URL, one a connection, which is what programs send to the proxy
//! that `HTTPS_PROXY` and `HTTP_PROXY` name.

use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixListener, UnixStream, lookup_host};
use tokio::task::{AbortHandle, JoinHandle, JoinSet};
use tokio::time::Instant;

use crate::short_path::ShortPath;
use adjutant_base::mutex::lock;

/// Maximum connections of a run at once.
const MAX_CONNECTIONS: usize = 64;
/// Maximum bytes of the head of a request.
const MAX_HEAD: usize = 32 * 1024;
/// Maximum hosts that the run report names as refused.
const MAX_REFUSED: usize = 16;
/// Maximum bytes of such a name.
const MAX_NAME: usize = 260;
/// Timeout of the head of a request, and of a connection to a server.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// Time without bytes after which a connection is closed. A model may think for minutes before its answer begins.
const IDLE_TIMEOUT: Duration = Duration::from_mins(15);
/// Minimum time without bytes of a connection that is closed in favour of a new one over the limit.
const DISPLACED_AFTER: Duration = Duration::from_secs(1);
/// Bytes that are read at once.
const BUFFER_SIZE: usize = 16 * 1024;
/// Pause after a connection that could not be accepted.
pub(super) const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The proxy of one run; it ends when this is dropped.
#[derive(Debug)]
pub struct NetworkProxy {
    refused: Arc<Mutex<BTreeSet<String>>>,
    task: JoinHandle<()>,
}

impl NetworkProxy {
    /// Listens on `socket`, and replaces a file there. `allows` takes the name of a host, or an address, and a port.
    pub fn serve(
        socket: &Path,
        allows: impl Fn(&str, u16) -> bool + Send + Sync + 'static,
    ) -> io::Result<Self> {
        Self::serve_with(socket, allows, IDLE_TIMEOUT)
    }

    fn serve_with(
        socket: &Path,
        allows: impl Fn(&str, u16) -> bool + Send + Sync + 'static,
        idle_timeout: Duration,
    ) -> io::Result<Self> {
        let short = ShortPath::new(socket)?;
        let _ = std::fs::remove_file(short.path());
        let listener = UnixListener::bind(short.path())?;
        let refused = Arc::<Mutex<BTreeSet<String>>>::default();
        let (allows, names) = (Arc::new(allows), refused.clone());
        let task = tokio::spawn(async move {
            let mut running = Connections::default();
            loop {
                let Ok((client, _)) = listener.accept().await else {
                    // Accepting fails while the process has too many open files, so it is tried again.
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                };
                running.wait_for_place().await;
                let (allows, names, used) = (allows.clone(), names.clone(), LastUse::now());
                running.open.push((
                    used.clone(),
                    running.tasks.spawn(async move {
                        let _ = forward(client, &*allows, &names, (&used, idle_timeout)).await;
                    }),
                ));
            }
        });
        Ok(Self { refused, task })
    }

    /// Returns the hosts that were refused so far, with their ports.
    pub fn refused(&self) -> Vec<String> {
        lock(&self.refused).iter().cloned().collect()
    }
}

impl Drop for NetworkProxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The time at which a connection carried something last.
#[derive(Clone)]
struct LastUse(Arc<Mutex<Instant>>);

impl LastUse {
    fn now() -> Self {
        Self(Arc::new(Mutex::new(Instant::now())))
    }

    fn get(&self) -> Instant {
        *lock(&self.0)
    }

    fn touch(&self) {
        *lock(&self.0) = Instant::now();
    }

    /// Waits until the connection has carried nothing for this long.
    async fn idle(&self, limit: Duration) {
        while self.get().elapsed() < limit {
            tokio::time::sleep_until(self.get() + limit).await;
        }
    }
}

/// The connections of a run.
#[derive(Default)]
struct Connections {
    tasks: JoinSet<()>,
    open: Vec<(LastUse, AbortHandle)>,
}

impl Connections {
    /// Waits until a new connection has a place, and closes the one that carried nothing for the longest time if it must.
    async fn wait_for_place(&mut self) {
        loop {
            while self.tasks.try_join_next().is_some() {}
            self.open.retain(|(_, task)| !task.is_finished());
            let oldest = self.open.iter().min_by_key(|(used, _)| used.get());
            let Some((used, task)) = oldest.filter(|_| self.open.len() >= MAX_CONNECTIONS) else { return };
            tokio::select! {
                _ = self.tasks.join_next() => {}
                () = used.idle(DISPLACED_AFTER) => {
                    task.abort();
                    self.tasks.join_next().await;
                }
            }
        }
    }
}

/// Serves one connection.
async fn forward(
    mut client: UnixStream,
    allows: &(impl Fn(&str, u16) -> bool + ?Sized),
    refused: &Mutex<BTreeSet<String>>,
    (used, idle_timeout): (&LastUse, Duration),
) -> io::Result<()> {
    let (head, rest) = tokio::time::timeout(CONNECT_TIMEOUT, read_head(&mut client)).await??;
    let Some(request) = Request::parse(&head) else {
        return answer(&mut client, "400 Bad Request", "this is not a request to a proxy").await;
    };
    let (host, port) = (request.host, request.port);
    if !allows(host, port) {
        let name = format!("{host}:{port}");
        note(refused, &name);
        let reason = format!("`{name}` is not in the `network` of this run");
        return answer(&mut client, "403 Forbidden", &reason).await;
    }
    let mut server = match tokio::time::timeout(CONNECT_TIMEOUT, connect(host, port)).await {
        Ok(Ok(server)) => server,
        Ok(Err(error)) => {
            return answer(&mut client, "502 Bad Gateway", &format!("`{host}:{port}`: {error}")).await;
        }
        Err(_) => {
            return answer(&mut client, "504 Gateway Timeout", &format!("`{host}:{port}` does not answer"))
                .await;
        }
    };
    match &request.head {
        Some(head) => server.write_all(head).await?,
        None => client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?,
    }
    server.write_all(&rest).await?;
    used.touch();
    let ((from_client, to_client), (from_server, to_server)) = (client.split(), server.split());
    tokio::select! {
        ended = async {
            tokio::try_join!(copy(from_client, to_server, used), copy(from_server, to_client, used))
        } => ended.map(drop),
        () = used.idle(idle_timeout) => Ok(()),
    }
}

/// Copies to the end of `from`.
async fn copy(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    used: &LastUse,
) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER_SIZE];
    loop {
        let read = from.read(&mut buffer).await?;
        if read == 0 {
            return to.shutdown().await;
        }
        to.write_all(&buffer[..read]).await?;
        used.touch();
    }
}

/// Keeps the name of a refused host for the run report.
fn note(refused: &Mutex<BTreeSet<String>>, name: &str) {
    let mut refused = lock(refused);
    if refused.len() < MAX_REFUSED && name.len() <= MAX_NAME {
        refused.insert(name.to_owned());
    }
}

/// Connects to the first address of `host` that answers. A name that is not an address must not lead to this machine
/// itself, because its owner decides where it leads.
async fn connect(host: &str, port: u16) -> io::Result<TcpStream> {
    let is_local = host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok();
    let found: Vec<SocketAddr> = lookup_host((host, port))
        .await?
        .filter(|address| is_local || !is_this_machine(address.ip()))
        .collect();
    if found.is_empty() {
        return Err(io::Error::other("the name leads to this machine"));
    }
    let server = TcpStream::connect(&found[..]).await?;
    // An address of a network interface leads to this machine too.
    if !is_local && server.local_addr()?.ip() == server.peer_addr()?.ip() {
        return Err(io::Error::other("the name leads to this machine"));
    }
    Ok(server)
}

fn is_this_machine(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => address.is_loopback() || address.is_unspecified() || address.is_link_local(),
        IpAddr::V6(address) => {
            address.is_loopback() || address.is_unspecified() || address.is_unicast_link_local()
        }
    }
}

/// Reads up to the empty line after the head. The second value holds the bytes that were read after it.
async fn read_head(client: &mut UnixStream) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = memchr::memmem::find(&bytes, b"\r\n\r\n") {
            let rest = bytes.split_off(end + 4);
            return Ok((bytes, rest));
        }
        if bytes.len() > MAX_HEAD || client.read_buf(&mut bytes).await? == 0 {
            return Err(io::Error::from(io::ErrorKind::InvalidData));
        }
    }
}

/// A request to a proxy.
#[derive(Debug, PartialEq, Eq)]
struct Request<'a> {
    host: &'a str,
    port: u16,
    /// The head for the server; `None` for `CONNECT`.
    head: Option<Vec<u8>>,
}

impl<'a> Request<'a> {
    fn parse(head: &'a [u8]) -> Option<Self> {
        let head = std::str::from_utf8(head).ok()?;
        let (first, fields) = head.split_once("\r\n")?;
        let mut words = first.split(' ');
        let (method, target, version) = (words.next()?, words.next()?, words.next()?);
        if method == "CONNECT" {
            let (host, port) = authority(target, None)?;
            return Some(Self { host, port, head: None });
        }
        let rest = target.strip_prefix("http://")?;
        let path = rest.find(['/', '?']).unwrap_or(rest.len());
        let (host, port) = authority(&rest[..path], Some(80))?;
        // The server closes the connection after its answer, so that no second request to another host follows.
        let slash = if rest[path..].starts_with('/') { "" } else { "/" };
        let mut sent = format!("{method} {slash}{} {version}\r\nConnection: close\r\n", &rest[path..]);
        for line in fields.split_inclusive("\r\n") {
            let name = line.split(':').next().unwrap_or_default();
            if !["connection", "proxy-connection", "keep-alive", "proxy-authorization"]
                .iter()
                .any(|dropped| name.eq_ignore_ascii_case(dropped))
            {
                sent += line;
            }
        }
        Some(Self { host, port, head: Some(sent.into_bytes()) })
    }
}

/// Splits `HOST:PORT`; a user before the host counts as wrong.
fn authority(text: &str, default: Option<u16>) -> Option<(&str, u16)> {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()?),
        _ => (text, default?),
    };
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    (!host.is_empty() && !host.contains(['@', '/', ' '])).then_some((host, port))
}

/// Answers with one sentence and closes the connection.
async fn answer(client: &mut UnixStream, status: &str, reason: &str) -> io::Result<()> {
    let body = format!("{reason}\n");
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    client.write_all(answer.as_bytes()).await
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, UnixStream};

    use super::{IDLE_TIMEOUT, MAX_CONNECTIONS, NetworkProxy, Request};

    /// Opens tunnels to a server that sends back what it gets.
    struct Tunnels {
        folder: tempfile::TempDir,
        port: u16,
        _proxy: NetworkProxy,
    }

    impl Tunnels {
        async fn new(idle_timeout: Duration) -> Self {
            let server = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
            let port = server.local_addr().unwrap().port();
            tokio::spawn(async move {
                while let Ok((mut stream, _)) = server.accept().await {
                    tokio::spawn(async move {
                        let (mut read, mut write) = stream.split();
                        tokio::io::copy(&mut read, &mut write).await
                    });
                }
            });
            let folder = tempfile::tempdir().unwrap();
            let socket = folder.path().join("proxy");
            let proxy = NetworkProxy::serve_with(&socket, |_, _| true, idle_timeout).unwrap();
            Self { folder, port, _proxy: proxy }
        }

        async fn open(&self) -> UnixStream {
            let mut tunnel = UnixStream::connect(self.folder.path().join("proxy")).await.unwrap();
            let request = format!("CONNECT 127.0.0.1:{} HTTP/1.1\r\n\r\n", self.port);
            tunnel.write_all(request.as_bytes()).await.unwrap();
            let mut answer = [0; 39];
            tunnel.read_exact(&mut answer).await.unwrap();
            assert!(answer.starts_with(b"HTTP/1.1 200 "), "{answer:?}");
            tunnel
        }
    }

    /// Whether what is sent comes back.
    async fn works(tunnel: &mut UnixStream) -> bool {
        let mut back = [0; 4];
        tunnel.write_all(b"ping").await.is_ok() && tunnel.read_exact(&mut back).await.is_ok()
    }

    #[tokio::test]
    async fn a_tunnel_that_carries_nothing_is_closed() {
        let tunnels = Tunnels::new(Duration::from_millis(50)).await;
        let mut tunnel = tunnels.open().await;
        let end = tokio::time::timeout(Duration::from_secs(20), tunnel.read(&mut [0; 1])).await;
        assert_eq!(end.expect("it is still open").unwrap(), 0);
    }

    #[tokio::test]
    async fn idle_tunnels_do_not_block_a_later_connection() {
        let tunnels = Tunnels::new(IDLE_TIMEOUT).await;
        let mut open = Vec::new();
        for _ in 0..MAX_CONNECTIONS {
            open.push(tunnels.open().await);
        }
        // The first one is not the one without use for the longest time.
        assert!(works(&mut open[0]).await);
        let later = tokio::time::timeout(Duration::from_secs(20), tunnels.open()).await;
        assert!(works(&mut later.expect("it waits for a place")).await);
        assert!(works(&mut open[0]).await && !works(&mut open[1]).await);
    }

    #[test]
    fn a_request_names_its_host_and_goes_on_without_the_fields_of_a_proxy() {
        let parse = |head| Request::parse(str::as_bytes(head));
        let connect = |host, port| Some(Request { host, port, head: None });
        assert_eq!(parse("CONNECT a.test:443 HTTP/1.1\r\nHost: a.test\r\n\r\n"), connect("a.test", 443));
        assert_eq!(parse("CONNECT [::1]:80 HTTP/1.1\r\n\r\n"), connect("::1", 80));
        let plain = parse(
            "GET http://a.test:81/x?y HTTP/1.1\r\nHost: a.test:81\r\nProxy-Connection: keep-alive\r\n\r\n",
        );
        let head = "GET /x?y HTTP/1.1\r\nConnection: close\r\nHost: a.test:81\r\n\r\n";
        assert_eq!(plain, Some(Request { host: "a.test", port: 81, head: Some(head.into()) }));
        let bare = parse("GET http://a.test?y HTTP/1.1\r\n\r\n").unwrap();
        assert_eq!(bare.head.unwrap(), b"GET /?y HTTP/1.1\r\nConnection: close\r\n\r\n");
        for wrong in [
            "CONNECT a.test HTTP/1.1\r\n\r\n",
            "CONNECT :443 HTTP/1.1\r\n\r\n",
            "GET /x HTTP/1.1\r\n\r\n",
            "GET http://u@a.test/ HTTP/1.1\r\n\r\n",
            "GET http://a.test:x/ HTTP/1.1\r\n\r\n",
            "x\r\n\r\n",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
