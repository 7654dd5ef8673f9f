//! HTTP requests to other servers. The only place that opens an outgoing HTTP connection.
//!
//! Every request has a deadline and every answer a size; a redirect never takes a password to another host. Proxies of
//! the environment are not used: what this program speaks to is what its configuration names.

use std::sync::OnceLock;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::BoxStream;
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::{Client, Method, Url, redirect};

use adjutant_base::trace_context;
use adjutant_base::trace_context::Trace;

/// How long a server may take to be reached.
const CONNECT: Duration = Duration::from_secs(10);
/// A server that sends its readers on more often than this sends them in circles.
const MOST_REDIRECTS: usize = 5;

/// A request.
#[derive(Debug)]
pub struct Call<'a> {
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
    /// Bytes of the answer's body at most.
    pub largest: usize,
    /// From the first byte sent to the last one received.
    pub patience: Duration,
}

/// A name and a password. The password is never shown.
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

/// A secret that a server gave out. It is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(pub String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token")
    }
}

/// What a server answered, whatever the status.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    /// The server's name of this version of the resource.
    pub etag: Option<String>,
    pub body: Vec<u8>,
}

impl Answer {
    /// Tells whether the server did what it was asked.
    pub fn is_good(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The body as text; bytes that are none are replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// Why there is no answer. `host` is all that is said of the address: the rest may hold a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("the address is not one of a web server (http:// or https://)")]
    Address,
    #[error("{host} cannot be reached")]
    Unreachable { host: String },
    #[error("{host} did not answer within {} s", patience.as_millis().div_ceil(1000))]
    Late { host: String, patience: Duration },
    #[error("{host} answers with more than {largest} bytes")]
    TooLarge { host: String, largest: usize },
    #[error("{host} broke off its answer")]
    Broken { host: String },
    #[error("no connection can be made from here: TLS is not set up")]
    Tls,
}

/// Sends a request and reads the whole answer.
///
/// # Errors
/// Fails where there is no whole answer in time; a status that says no is an answer.
pub async fn send(call: Call<'_>) -> Result<Answer, Error> {
    let Begun { status, headers, mut body } = begin(call).await?;
    let etag = headers.into_iter().find(|(name, _)| name == "etag").map(|(_, value)| value);
    let mut answer = Answer { status, etag, body: Vec::new() };
    while let Some(bytes) = body.next().await {
        answer.body.extend_from_slice(&bytes?);
    }
    Ok(answer)
}

/// An answer whose body is on its way.
pub struct Begun {
    pub status: u16,
    /// By their names in small letters, those that are text.
    pub headers: Vec<(String, String)>,
    /// As it comes; an error is its end.
    pub body: BoxStream<'static, Result<Vec<u8>, Error>>,
}

/// Sends a request and reads the head of the answer.
///
/// # Errors
/// Fails where there is no head in time; a status that says no is an answer.
pub async fn begin(call: Call<'_>) -> Result<Begun, Error> {
    let Call { method, url, headers, login, token, body, largest, patience } = call;
    let url = Url::parse(url).map_err(|_| Error::Address)?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(Error::Address);
    }
    let host = url.host_str().ok_or(Error::Address)?.to_owned();
    let large = host.clone();
    let method = Method::from_bytes(method.as_bytes()).map_err(|_| Error::Address)?;
    let mut request = client().ok_or(Error::Tls)?.request(method, url).timeout(patience);
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
    let fault = move |error: &reqwest::Error| match error {
        late if late.is_timeout() => Error::Late { host: host.clone(), patience },
        away if away.is_connect() || away.is_request() => Error::Unreachable { host: host.clone() },
        _ => Error::Broken { host: host.clone() },
    };
    let response = request.send().await.map_err(|error| fault(&error))?;
    let text = |(name, value): (&HeaderName, &HeaderValue)| {
        Some((name.to_string(), value.to_str().ok()?.to_owned()))
    };
    let headers = response.headers().iter().filter_map(text).collect();
    let status = response.status().as_u16();
    let mut bytes = 0;
    let body = response.bytes_stream().map(move |chunk| {
        let chunk = chunk.map_err(|error| fault(&error))?;
        bytes += chunk.len();
        if bytes > largest {
            Err(Error::TooLarge { host: large.clone(), largest })
        } else {
            Ok(chunk.to_vec())
        }
    });
    Ok(Begun { status, headers, body: body.boxed() })
}

/// The one client; its connections are used again.
fn client() -> Option<&'static Client> {
    static CLIENT: OnceLock<Option<Client>> = OnceLock::new();
    let made = CLIENT.get_or_init(|| {
        // Whoever was first has set up the same one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Client::builder()
            .connect_timeout(CONNECT)
            .redirect(redirect::Policy::limited(MOST_REDIRECTS))
            .referer(false)
            .no_proxy()
            .user_agent(concat!("adjutant/", env!("CARGO_PKG_VERSION")))
            .build()
            .ok()
    });
    made.as_ref()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::{Call, Error, Login, Token, send};

    /// Answers one connection with these bytes and returns what it was asked.
    async fn server(answer: &'static str) -> (String, tokio::task::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/feed", listener.local_addr().unwrap());
        let asked = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut asked = vec![0; 4096];
            let length = stream.read(&mut asked).await.unwrap();
            stream.write_all(answer.as_bytes()).await.unwrap();
            String::from_utf8_lossy(&asked[..length]).into_owned()
        });
        (url, asked)
    }

    fn call(url: &str) -> Call<'_> {
        Call {
            method: "PROPFIND",
            url,
            headers: vec![("depth", "1".to_owned())],
            login: None,
            token: None,
            body: String::new(),
            largest: 100,
            patience: Duration::from_secs(20),
        }
    }

    #[tokio::test]
    async fn a_request_is_sent_and_its_answer_read() {
        let (url, asked) = server("HTTP/1.1 429 No\r\nETag: \"a\"\r\nContent-Length: 2\r\n\r\nno").await;
        let login = Login { name: "ann".to_owned(), password: "secret".to_owned() };
        let answer = send(Call { login: Some(&login), ..call(&url) }).await.unwrap();
        assert_eq!(
            (answer.status, answer.text().as_str(), answer.etag.as_deref()),
            (429, "no", Some("\"a\""))
        );
        let asked = asked.await.unwrap().to_lowercase();
        assert!(asked.starts_with("propfind /feed http/1.1\r\n"), "{asked}");
        assert!(
            asked.contains("depth: 1\r\n") && asked.contains("authorization: basic yw5uonnly3jlda=="),
            "{asked}"
        );
        assert!(!format!("{login:?} {:?}", Token("secret".to_owned())).contains("secret"));
    }

    #[tokio::test]
    async fn answers_are_bounded_and_faults_are_named() {
        let (url, _asked) = server("HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n.....................................................................................................").await;
        assert!(matches!(send(call(&url)).await, Err(Error::TooLarge { largest: 100, .. })));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let silent = format!("http://{}/", listener.local_addr().unwrap());
        let late = send(Call { patience: Duration::from_millis(50), ..call(&silent) }).await;
        assert!(matches!(late, Err(Error::Late { .. })), "{late:?}");
        drop(listener);
        assert!(matches!(send(call(&silent)).await, Err(Error::Unreachable { .. })));
        for address in ["file:///etc/passwd", "ftp://x/", "nonsense", "http://"] {
            assert!(matches!(send(call(address)).await, Err(Error::Address)), "{address}");
        }
    }
}
