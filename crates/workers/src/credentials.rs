//! Credentials of a worker in its home: the key that never leaves it, and the token that the hub renews.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::SystemTime;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use nkeys::KeyPair;
use serde::{Deserialize, Serialize};

use crate::files::{put_private, sync};
use crate::protocol::EarlierKey;

/// The file of the credentials in the folder of a worker.
const FILE: &str = "credentials.json";
/// The file of a new key until a hub has answered; the credentials from an earlier join stay in use until then.
const JOINING: &str = "joining.json";

/// Credentials of a worker. Clones share the token, so that a renewed one is used by the next connection.
#[derive(Clone)]
pub struct Credentials {
    path: PathBuf,
    content: Arc<RwLock<Content>>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Content {
    /// Address of the NATS server.
    nats: String,
    seed: String,
    /// Empty until the hub has answered the first time.
    jwt: String,
    /// The end of the token in milliseconds since 1970, by the clock of the hub.
    expires_at: i64,
    labels: Vec<String>,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Credentials").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Credentials {
    /// Reads the credentials of a worker's folder; `None` before it has joined. The error is a sentence.
    pub fn load(folder: &Path) -> Result<Option<Self>, String> {
        Ok(Self::read(folder.join(FILE))?.filter(|credentials| !credentials.content().jwt.is_empty()))
    }

    /// Makes a key for the server at `nats`, or takes the one of a join that got no answer.
    pub(crate) fn begin(folder: &Path, nats: &str) -> Result<Self, String> {
        let path = folder.join(JOINING);
        if let Ok(Some(begun)) = Self::read(path.clone())
            && begun.content().jwt.is_empty()
            && begun.nats() == nats
        {
            return Ok(begun);
        }
        let seed = KeyPair::new_user().seed().map_err(|error| error.to_string())?;
        let content =
            Content { nats: nats.to_owned(), seed, jwt: String::new(), expires_at: 0, labels: Vec::new() };
        let credentials = Self { path, content: Arc::new(RwLock::new(content)) };
        credentials.save()?;
        Ok(credentials)
    }

    /// Takes the first token, and replaces the credentials from an earlier join; when this returns, it is on the disk.
    pub(crate) fn complete(
        mut self,
        jwt: String,
        expires_at: i64,
        labels: Vec<String>,
    ) -> Result<Self, String> {
        self.renew(jwt, expires_at, labels)?;
        let path = self.path.with_file_name(FILE);
        std::fs::rename(&self.path, &path)
            .and_then(|()| sync(path.parent().unwrap_or(&path)))
            .map_err(|error| format!("{} cannot be replaced: {error}", path.display()))?;
        self.path = path;
        Ok(self)
    }

    /// Takes a token and stores it; when this returns, it is on the disk.
    pub(crate) fn renew(&self, jwt: String, expires_at: i64, labels: Vec<String>) -> Result<(), String> {
        {
            let mut content = self.content.write().unwrap_or_else(PoisonError::into_inner);
            (content.jwt, content.expires_at, content.labels) = (jwt, expires_at, labels);
        }
        self.save()
    }

    /// Returns the address of the NATS server.
    pub fn nats(&self) -> String {
        self.content().nats
    }

    /// Returns the labels that the hub gave.
    pub fn labels(&self) -> Vec<String> {
        self.content().labels
    }

    /// Returns the end of the token in milliseconds since 1970.
    pub fn expires_at(&self) -> i64 {
        self.content().expires_at
    }

    /// Returns whether the token has ended.
    pub fn has_expired(&self) -> bool {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        i64::try_from(now.as_millis()).is_ok_and(|now| now > self.expires_at())
    }

    /// Returns the public key, which is the worker's id.
    pub fn id(&self) -> Result<String, String> {
        self.key().map(|key| key.public_key())
    }

    /// Returns the key with the proof that the worker with the public key `new` has it too.
    pub(crate) fn replaced_by(&self, new: &str) -> Result<EarlierKey, String> {
        let key = self.key()?;
        let signature = key.sign(new.as_bytes()).map_err(|error| error.to_string())?;
        Ok(EarlierKey { worker: key.public_key(), signature: BASE64_STANDARD.encode(signature) })
    }

    /// Returns the token, and the signature of `nonce` that proves the key.
    pub(crate) fn sign(&self, nonce: &[u8]) -> Result<(String, Vec<u8>), String> {
        let signature = self.key()?.sign(nonce).map_err(|error| error.to_string())?;
        Ok((self.content().jwt, signature))
    }

    fn key(&self) -> Result<KeyPair, String> {
        KeyPair::from_seed(&self.content().seed)
            .map_err(|error| format!("the key in {} is not valid: {error}", self.path.display()))
    }

    fn content(&self) -> Content {
        self.content.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn save(&self) -> Result<(), String> {
        let json = serde_json::to_vec(&self.content()).map_err(|error| error.to_string())?;
        put_private(&self.path, &json)
            .map_err(|error| format!("{} cannot be written: {error}", self.path.display()))
    }

    fn read(path: PathBuf) -> Result<Option<Self>, String> {
        let json = match std::fs::read(&path) {
            Ok(json) => json,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("{} cannot be read: {error}", path.display())),
        };
        let content: Content = serde_json::from_slice(&json)
            .map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
        Ok(Some(Self { path, content: Arc::new(RwLock::new(content)) }))
    }
}
