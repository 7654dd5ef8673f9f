//! HTTP requests to other servers. The only place that opens an outgoing HTTP connection.
//!
//! Every request has a timeout, every response a maximum size, and a redirect never sends a password to another host.
//! Proxies of the environment are not used, so that only hosts of the configuration are contacted.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::BoxStream;
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::{Client, ClientBuilder, Method, Url, redirect};

use crate::certificate;
use adjutant_base::trace_context::{self, Trace};

/// Time to connect to a server.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Time to connect to a [`Server`], of which there may be another.
const SERVER_CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// When the kernel asks a silent server whether it is there, how often, and how many times until it is not.
const KEEPALIVE: (Duration, Duration, u32) = (Duration::from_secs(15), Duration::from_secs(5), 3);
/// Maximum redirects of one request; more are a loop.
const MAX_REDIRECTS: usize = 5;

/// A request.
#[derive(Debug)]
pub struct HttpRequest<'a> {
    /// `GET`, `POST`, `PROPFIND` …
    pub method: &'a str,
    /// `http` or `https`.
    pub url: &'a str,
    pub headers: Vec<(&'static str, String)>,
    /// Sent as HTTP's Basic authentication.
    pub login: Option<&'a Login>,
    /// Sent as HTTP's Bearer authentication.
    pub token: Option<&'a Token>,
    pub body: String,
    /// Maximum bytes of the response's body.
    pub max_bytes: usize,
    /// Timeout of the whole exchange, from connecting to the last byte.
    pub timeout: Duration,
}

/// A name and a password. `Debug` leaves the password out.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    pub name: String,
    pub password: String,
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Login").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A bearer token. `Debug` leaves it out.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(pub String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token")
    }
}

/// A response with any status.
#[derive(Debug)]
pub struct HttpResponse {
    pub status: u16,
    /// The server's tag of this version of the resource.
    pub etag: Option<String>,
    /// The time of the resource's last change, as the server writes it.
    pub last_modified: Option<String>,
    /// The time after which the server wants to be asked again, as it writes it.
    pub retry_after: Option<String>,
    pub body: Vec<u8>,
}

impl HttpResponse {
    /// Returns whether the status is 2xx.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Returns the body as text; invalid UTF-8 is replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// A failed request. The error names only the `host` of the address, because the rest may hold a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("the address must start with http:// or https://")]
    Address,
    #[error("{host} cannot be reached")]
    Unreachable { host: String },
    #[error("{host} gave no answer")]
    NoAnswer { host: String },
    #[error("{host} did not answer within {} s", timeout.as_millis().div_ceil(1000))]
    TimedOut { host: String, timeout: Duration },
    #[error("{host} answers with more than {max_bytes} bytes")]
    TooLarge { host: String, max_bytes: usize },
    #[error("{host} closed the connection before the end of its response")]
    Incomplete { host: String },
    #[error("cannot set up TLS on this machine; check its certificates")]
    Tls,
}

/// Sends a request and reads the whole response.
///
/// # Errors
/// Fails without a whole response in time. A response with an error status is not a failure.
pub async fn send(request: HttpRequest<'_>) -> Result<HttpResponse, Error> {
    read(send_streaming(request).await?).await
}

/// Sends a request like [`send`], and returns a redirect as the response that it is.
///
/// # Errors
/// Fails without a whole response in time. A response with an error status is not a failure.
pub(crate) async fn send_without_redirects(request: HttpRequest<'_>) -> Result<HttpResponse, Error> {
    read(exchange(client(Redirects::Returned).ok_or(Error::Tls)?, request).await?).await
}

async fn read(response: StreamingResponse) -> Result<HttpResponse, Error> {
    let StreamingResponse { status, headers, mut body } = response;
    let header = |wanted| headers.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.clone());
    let mut response = HttpResponse {
        status,
        etag: header("etag"),
        last_modified: header("last-modified"),
        retry_after: header("retry-after"),
        body: Vec::new(),
    };
    while let Some(bytes) = body.next().await {
        response.body.extend_from_slice(&bytes?);
    }
    Ok(response)
}

/// A response with an unread body.
pub struct StreamingResponse {
    pub status: u16,
    /// Headers with text values, by their names in lower case.
    pub headers: Vec<(String, String)>,
    /// The parts of the body; an error is the last item.
    pub body: BoxStream<'static, Result<Vec<u8>, Error>>,
}

/// Sends a request and reads the head of the response.
///
/// # Errors
/// Fails without a head in time. A response with an error status is not a failure.
pub async fn send_streaming(request: HttpRequest<'_>) -> Result<StreamingResponse, Error> {
    // A redirected POST would arrive without its body or its token.
    let redirects = if request.method == "POST" { Redirects::Returned } else { Redirects::Followed };
    exchange(client(redirects).ok_or(Error::Tls)?, request).await
}

/// What happens to a redirect.
#[derive(Clone, Copy)]
enum Redirects {
    Followed,
    Returned,
}

async fn exchange(client: &Client, request: HttpRequest<'_>) -> Result<StreamingResponse, Error> {
    let HttpRequest { method, url, headers, login, token, body, max_bytes, timeout } = request;
    let url = Url::parse(url).map_err(|_| Error::Address)?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(Error::Address);
    }
    let host = url.host_str().ok_or(Error::Address)?.to_owned();
    let host_of_body = host.clone();
    let method = Method::from_bytes(method.as_bytes()).map_err(|_| Error::Address)?;
    let mut request = client.request(method, url).timeout(timeout);
    for (name, value) in headers {
        request = request.header(name, value);
    }
    for (name, value) in trace_context::current().iter().flat_map(Trace::headers) {
        request = request.header(name, value);
    }
    if let Some(Login { name, password }) = login {
        request = request.basic_auth(name, Some(password));
    }
    if let Some(Token(token)) = token {
        request = request.bearer_auth(token);
    }
    if !body.is_empty() {
        request = request.body(body);
    }
    let failed = move |error: &reqwest::Error| match error {
        error if error.is_timeout() => Error::TimedOut { host: host.clone(), timeout },
        error if error.is_connect() => Error::Unreachable { host: host.clone() },
        // The server may have read the request.
        error if error.is_request() => Error::NoAnswer { host: host.clone() },
        _ => Error::Incomplete { host: host.clone() },
    };
    let response = request.send().await.map_err(|error| failed(&error))?;
    let text = |(name, value): (&HeaderName, &HeaderValue)| {
        Some((name.to_string(), value.to_str().ok()?.to_owned()))
    };
    let headers = response.headers().iter().filter_map(text).collect();
    let status = response.status().as_u16();
    let mut bytes = 0;
    let body = response.bytes_stream().map(move |chunk| {
        let chunk = chunk.map_err(|error| failed(&error))?;
        bytes += chunk.len();
        if bytes > max_bytes {
            Err(Error::TooLarge { host: host_of_body.clone(), max_bytes })
        } else {
            Ok(chunk.to_vec())
        }
    });
    Ok(StreamingResponse { status, headers, body: body.boxed() })
}

/// Returns the shared client, which reuses its connections.
fn client(redirects: Redirects) -> Option<&'static Client> {
    static CLIENTS: OnceLock<Option<[Client; 2]>> = OnceLock::new();
    let clients = CLIENTS.get_or_init(|| {
        let build = |redirects: redirect::Policy| builder().redirect(redirects).build().ok();
        Some([build(redirect::Policy::limited(MAX_REDIRECTS))?, build(redirect::Policy::none())?])
    });
    clients.as_ref().map(|[following, returning]| match redirects {
        Redirects::Followed => following,
        Redirects::Returned => returning,
    })
}

/// Reads the page at `url`, at most `max_bytes` of it, whatever its status and its server's certificate. So the page may be
/// anybody's: it is good for a hint, and nothing is sent that is not public. `None` without a page in `timeout`.
pub async fn unverified_page(url: &str, max_bytes: usize, timeout: Duration) -> Option<String> {
    let client = builder().tls_danger_accept_invalid_certs(true).redirect(redirect::Policy::none()).build();
    let (method, headers, body) = ("GET", Vec::new(), String::new());
    let request = HttpRequest { method, url, headers, login: None, token: None, body, max_bytes, timeout };
    Some(read(exchange(&client.ok()?, request).await.ok()?).await.ok()?.text())
}

/// Returns the settings that all clients share.
fn builder() -> ClientBuilder {
    // It fails only if the same provider is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .referer(false)
        .no_proxy()
        .user_agent(concat!("adjutant/", env!("CARGO_PKG_VERSION")))
}

/// A hub, with a certificate that may be in a file only. No redirect is followed, because a token is for this server.
#[derive(Debug)]
pub struct Server(Client);

impl Server {
    /// Makes the client without connecting. With the PEM file `trusted` its certificates count, else those of the system.
    /// With `place` the host of that name is at that address, whatever the resolver says.
    ///
    /// # Errors
    /// Fails if the file cannot be used.
    pub fn new(
        trusted: Option<&Path>,
        place: Option<(&str, SocketAddr)>,
    ) -> Result<Self, certificate::Error> {
        let mut client = builder()
            .redirect(redirect::Policy::none())
            .connect_timeout(SERVER_CONNECT_TIMEOUT)
            // A machine that went away says nothing, and a call may wait for its answer for hours.
            .tcp_keepalive(KEEPALIVE.0)
            .tcp_keepalive_interval(KEEPALIVE.1)
            .tcp_keepalive_retries(KEEPALIVE.2);
        if let Some(path) = trusted {
            client = client.tls_backend_preconfigured(certificate::trusting(path)?);
        }
        if let Some((name, address)) = place {
            client = client.resolve(name, address);
        }
        client.build().map(Self).map_err(|_| certificate::Error::System)
    }

    /// Sends a request and reads the head of the response, like [`send_streaming`].
    pub async fn send_streaming(&self, request: HttpRequest<'_>) -> Result<StreamingResponse, Error> {
        exchange(&self.0, request).await
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::{Error, HttpRequest, Login, Token, send};

    /// Answers one connection with `response`; the task returns the request.
    async fn server(response: &'static str) -> (String, tokio::task::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/feed", listener.local_addr().unwrap());
        let request = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = vec![0; 4096];
            let length = stream.read(&mut request).await.unwrap();
            stream.write_all(response.as_bytes()).await.unwrap();
            String::from_utf8_lossy(&request[..length]).into_owned()
        });
        (url, request)
    }

    fn request(url: &str) -> HttpRequest<'_> {
        HttpRequest {
            method: "PROPFIND",
            url,
            headers: vec![("depth", "1".to_owned())],
            login: None,
            token: None,
            body: String::new(),
            max_bytes: 100,
            timeout: Duration::from_secs(20),
        }
    }

    #[tokio::test]
    async fn a_request_is_sent_and_its_response_read() {
        let (url, sent) = server("HTTP/1.1 429 No\r\nETag: \"a\"\r\nContent-Length: 2\r\n\r\nno").await;
        let login = Login { name: "ann".to_owned(), password: "secret".to_owned() };
        let response = send(HttpRequest { login: Some(&login), ..request(&url) }).await.unwrap();
        assert_eq!(
            (response.status, response.text().as_str(), response.etag.as_deref()),
            (429, "no", Some("\"a\""))
        );
        let sent = sent.await.unwrap().to_lowercase();
        assert!(sent.starts_with("propfind /feed http/1.1\r\n"), "{sent}");
        assert!(
            sent.contains("depth: 1\r\n") && sent.contains("authorization: basic yw5uonnly3jlda=="),
            "{sent}"
        );
        assert!(!format!("{login:?} {:?}", Token("secret".to_owned())).contains("secret"));
    }

    #[tokio::test]
    async fn responses_are_bounded_and_failures_are_named() {
        let (url, _sent) = server("HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n.....................................................................................................").await;
        assert!(matches!(send(request(&url)).await, Err(Error::TooLarge { max_bytes: 100, .. })));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let silent = format!("http://{}/", listener.local_addr().unwrap());
        let late = send(HttpRequest { timeout: Duration::from_millis(50), ..request(&silent) }).await;
        assert!(matches!(late, Err(Error::TimedOut { .. })), "{late:?}");
        drop(listener);
        assert!(matches!(send(request(&silent)).await, Err(Error::Unreachable { .. })));
        for address in ["file:///etc/passwd", "ftp://x/", "nonsense", "http://"] {
            assert!(matches!(send(request(address)).await, Err(Error::Address)), "{address}");
        }
    }
}
