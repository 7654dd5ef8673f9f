//! A fake OpenID Connect issuer on loopback: it publishes its keys, and answers a code with the token that the test gave it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};

/// Answers by path: status, more lines of the head, body. A path without one never answers.
type Answers = Vec<(&'static str, (u16, String, String))>;

/// The issuer; it ends with the test's process.
pub(crate) struct FakeIssuer {
    address: SocketAddr,
    answers: Arc<Mutex<Answers>>,
    requests: Arc<Mutex<Vec<String>>>,
}

impl FakeIssuer {
    /// Starts an issuer that publishes its addresses, and no keys.
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (answers, requests) = (Arc::<Mutex<Answers>>::default(), Arc::<Mutex<Vec<String>>>::default());
        std::thread::spawn({
            let (answers, requests) = (answers.clone(), requests.clone());
            move || {
                for stream in listener.incoming().flatten() {
                    let (answers, requests) = (answers.clone(), requests.clone());
                    // A client that hangs up fails in its own test.
                    std::thread::spawn(move || serve(stream, &answers, &requests));
                }
            }
        });
        let issuer = Self { address, answers, requests };
        issuer.answer(DISCOVERY, 200, &issuer.metadata().to_string());
        issuer
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The document that it publishes about itself.
    pub(crate) fn metadata(&self) -> Value {
        let url = self.url();
        json!({
            "issuer": url,
            "authorization_endpoint": format!("{url}/authorize?tenant=shop"),
            "token_endpoint": format!("{url}/token"),
            "jwks_uri": format!("{url}/keys"),
        })
    }

    /// Answers a path like this from now on.
    pub(crate) fn answer(&self, path: &'static str, status: u16, body: &str) {
        self.set(path, (status, String::new(), body.to_owned()));
    }

    /// Redirects a path from now on.
    pub(crate) fn redirect(&self, path: &'static str, to: &str) {
        self.set(path, (307, format!("location: {to}\r\n"), String::new()));
    }

    /// Answers a path no more.
    pub(crate) fn silence(&self, path: &'static str) {
        self.answers.lock().unwrap().retain(|(other, _)| *other != path);
    }

    fn set(&self, path: &'static str, answer: (u16, String, String)) {
        self.silence(path);
        self.answers.lock().unwrap().push((path, answer));
    }

    /// Publishes these keys from now on.
    pub(crate) fn publish(&self, keys: &[&Key]) {
        let keys: Vec<Value> = keys.iter().map(|key| key.public.clone()).collect();
        self.answer(KEYS, 200, &json!({"keys": keys}).to_string());
    }

    /// Answers each code with this token.
    pub(crate) fn grant(&self, token: &str) {
        let answer = json!({"access_token": "of-access", "token_type": "Bearer", "id_token": token});
        self.answer(TOKEN, 200, &answer.to_string());
    }

    /// The requests so far: head and body.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    /// The claims of a token that is right in all of them.
    pub(crate) fn claims(&self, nonce: &str) -> Value {
        let now = now();
        json!({
            "iss": self.url(), "sub": "1", "aud": "adjutant", "iat": now, "exp": now + 60, "nonce": nonce,
            "preferred_username": "ann",
        })
    }
}

/// The paths of the issuer.
pub(crate) const DISCOVERY: &str = "/.well-known/openid-configuration";
pub(crate) const KEYS: &str = "/keys";
pub(crate) const TOKEN: &str = "/token";

/// The seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// A key with its published part.
pub(crate) struct Key {
    pub(crate) public: Value,
    pair: Pair,
}

enum Pair {
    Curve(EcdsaKeyPair),
    Edwards(Ed25519KeyPair),
}

impl Key {
    /// Makes a key for ES256.
    pub(crate) fn curve(name: &str) -> Self {
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let pair =
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref(), &random).unwrap();
        let point = pair.public_key().as_ref();
        let [x, y] = [&point[1..33], &point[33..]].map(|half| BASE64.encode(half));
        let public = json!({"kty": "EC", "crv": "P-256", "x": x, "y": y, "kid": name, "use": "sig"});
        Self { public, pair: Pair::Curve(pair) }
    }

    /// Makes a key for `EdDSA`.
    pub(crate) fn edwards(name: &str) -> Self {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        let pair = Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap();
        let x = BASE64.encode(pair.public_key().as_ref());
        let public = json!({"kty": "OKP", "crv": "Ed25519", "x": x, "kid": name});
        Self { public, pair: Pair::Edwards(pair) }
    }

    /// The public key as its bytes.
    pub(crate) fn public_bytes(&self) -> &[u8] {
        match &self.pair {
            Pair::Curve(pair) => pair.public_key().as_ref(),
            Pair::Edwards(pair) => pair.public_key().as_ref(),
        }
    }

    /// Signs claims with the algorithm of the key.
    pub(crate) fn sign(&self, claims: &Value) -> String {
        let algorithm = match &self.pair {
            Pair::Curve(_) => "ES256",
            Pair::Edwards(_) => "EdDSA",
        };
        self.sign_with(&json!({"alg": algorithm, "kid": self.public["kid"]}), claims)
    }

    /// Signs claims, with this header.
    pub(crate) fn sign_with(&self, header: &Value, claims: &Value) -> String {
        let message = message(header, claims);
        let signature = match &self.pair {
            Pair::Curve(pair) => {
                pair.sign(&SystemRandom::new(), message.as_bytes()).unwrap().as_ref().to_vec()
            }
            Pair::Edwards(pair) => pair.sign(message.as_bytes()).as_ref().to_vec(),
        };
        format!("{message}.{}", BASE64.encode(signature))
    }
}

/// A token that is signed with HS256 and this key.
pub(crate) fn sign_shared(key: &[u8], header: &Value, claims: &Value) -> String {
    let message = message(header, claims);
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, key);
    format!("{message}.{}", BASE64.encode(ring::hmac::sign(&key, message.as_bytes())))
}

/// What is signed.
pub(crate) fn message(header: &Value, claims: &Value) -> String {
    [header, claims].map(|part| BASE64.encode(part.to_string())).join(".")
}

fn serve(stream: TcpStream, answers: &Mutex<Answers>, requests: &Mutex<Vec<String>>) -> Option<()> {
    let mut writer = stream.try_clone().ok()?;
    let mut reader = BufReader::new(stream);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head).ok()? == 0 {
                return None;
            }
        }
        let length = head.to_ascii_lowercase();
        let length = length.lines().find_map(|line| line.strip_prefix("content-length:"));
        let mut body = vec![0_u8; length.map_or(0, |length| length.trim().parse().unwrap())];
        reader.read_exact(&mut body).ok()?;
        let path = head.split(' ').nth(1)?.to_owned();
        requests.lock().unwrap().push(head + &String::from_utf8(body).ok()?);
        let answer = answers.lock().unwrap().iter().find(|(other, _)| *other == path).cloned();
        let Some((_, (status, more, text))) = answer else {
            // Until the client gives up.
            let _ = reader.read_line(&mut String::new());
            return None;
        };
        let length = text.len();
        write!(
            writer,
            "HTTP/1.1 {status} Scripted\r\ncontent-type: application/json\r\n{more}content-length: {length}\r\n\r\n{text}"
        )
        .ok()?;
    }
}
