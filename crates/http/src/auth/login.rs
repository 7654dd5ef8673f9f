//! Logins of the user: one-time links and the cookie that a link is exchanged for.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::token::{Secret, hex, random};

/// How long a link may wait to be opened.
const LINK_LIFE: Duration = Duration::from_mins(2);

/// How long a browser stays logged in.
pub(crate) const COOKIE_LIFE: Duration = Duration::from_hours(30 * 24);

/// Links that may wait at once; a further one takes the oldest's place.
const MAX_LINKS: usize = 16;

/// The pending links and the key of the cookies. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Logins {
    key: [u8; 32],
    links: Arc<Mutex<VecDeque<Link>>>,
}

/// A link, stored as a digest so that a memory dump does not reveal it.
struct Link {
    digest: [u8; 32],
    expires: Instant,
}

impl std::fmt::Debug for Logins {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Logins(…)")
    }
}

impl Logins {
    pub(crate) fn new(secret: &Secret) -> Self {
        let token: [u8; 32] = Sha256::digest(secret.as_str()).into();
        Self { key: keyed(&token, &["adjutant console"]), links: Arc::default() }
    }

    /// Makes a link that logs one browser in, once, within two minutes; returns its path on this listener.
    pub(crate) fn issue(&self) -> std::io::Result<String> {
        let nonce = random()?;
        let link =
            Link { digest: Sha256::digest(nonce.as_str()).into(), expires: Instant::now() + LINK_LIFE };
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        while links.len() >= MAX_LINKS {
            links.pop_front();
        }
        links.push_back(link);
        Ok(format!("/login/{}", nonce.as_str()))
    }

    /// Returns the cookie for a link's nonce, if the link is known, fresh and unspent; it is spent now.
    pub(crate) fn redeem(&self, nonce: &str) -> Option<String> {
        let digest: [u8; 32] = Sha256::digest(nonce).into();
        let now = Instant::now();
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        links.retain(|link| link.expires > now);
        let found = links.iter().position(|link| bool::from(link.digest.ct_eq(&digest)))?;
        links.remove(found);
        drop(links);
        let number = random().ok()?;
        let until = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs() + COOKIE_LIFE.as_secs();
        let until = until.to_string();
        let seal = hex(&keyed(&self.key, &["login", &until, number.as_str()]));
        Some(format!("{until}.{}.{seal}", number.as_str()))
    }

    /// Says whether this token file sealed a cookie whose time is not over.
    pub(crate) fn recognise(&self, cookie: &str) -> bool {
        let mut parts = cookie.split('.');
        let (Some(until), Some(number), Some(seal), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return false;
        };
        let expected = hex(&keyed(&self.key, &["login", until, number]));
        let sealed: bool = expected.as_bytes().ct_eq(seal.as_bytes()).into();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(u64::MAX, |now| now.as_secs());
        sealed && until.parse::<u64>().is_ok_and(|until| until > now)
    }
}

/// HMAC-SHA-256 over the parts, each ended by a byte that none of them contains.
fn keyed(key: &[u8; 32], parts: &[&str]) -> [u8; 32] {
    let mut block = [0; 64];
    block[..key.len()].copy_from_slice(key);
    let mut mac = Hmac::<Sha256>::new(&block.into());
    for part in parts {
        mac.update(part.as_bytes());
        mac.update(&[0]);
    }
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_known_only_to_the_token_that_sealed_it() {
        let secret = random().unwrap();
        let logins = Logins::new(&secret);
        let link = logins.issue().unwrap();
        let cookie = logins.redeem(link.strip_prefix("/login/").unwrap()).unwrap();
        assert!(logins.recognise(&cookie));
        assert!(Logins::new(&secret).recognise(&cookie), "a restart keeps logins");
        assert!(!Logins::new(&random().unwrap()).recognise(&cookie));

        let (until, rest) = cookie.split_once('.').unwrap();
        let longer = format!("{}.{rest}", until.parse::<u64>().unwrap() + 1);
        assert!(!logins.recognise(&longer), "the end is part of the seal");
        for broken in ["", ".", "..", "a.b.c", &cookie[1..], &format!("{cookie}.x")] {
            assert!(!logins.recognise(broken), "{broken}");
        }
    }

    #[test]
    fn links_are_bounded_and_single_use() {
        let logins = Logins::new(&random().unwrap());
        let first = logins.issue().unwrap();
        let rest: Vec<_> = (0..MAX_LINKS).map(|_| logins.issue().unwrap()).collect();
        assert!(logins.redeem(first.strip_prefix("/login/").unwrap()).is_none(), "the oldest made room");
        let last = rest.last().unwrap().strip_prefix("/login/").unwrap();
        assert!(logins.redeem(last).is_some());
        assert!(logins.redeem(last).is_none());
    }
}
