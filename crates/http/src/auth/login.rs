//! Logins of the user: one-time links and the cookie that a link is exchanged for.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::secret_file::{Secret, WatchedFile, logged, random, read_or_make};
use adjutant_base::mutex::lock;
use adjutant_base::text::hex;
use adjutant_host::process::Ancestor;

/// Time for which an unopened link stays valid.
const LINK_LIFE: Duration = Duration::from_mins(2);

/// Time for which a browser stays logged in.
pub(crate) const COOKIE_LIFE: Duration = Duration::from_hours(30 * 24);

/// Time for which the browser of a user with a password stays logged in.
pub(crate) const USER_COOKIE_LIFE: Duration = Duration::from_hours(7 * 24);

/// Starts the cookie of a user.
const OF_USER: &str = "u";

/// Maximum number of pending links; a new one replaces the oldest.
const MAX_LINKS: usize = 16;

/// The pending links and the key of the cookies. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Logins {
    key: Arc<WatchedFile<Secret>>,
    token: Arc<WatchedFile<Secret>>,
    links: Arc<Mutex<VecDeque<Link>>>,
}

/// A link, stored as a keyed hash so that a memory dump does not reveal it, and so that it ends with the logins.
struct Link {
    seal: [u8; 32],
    expires: Instant,
    /// The process below which the browser starts that gets the link as an argument; `None` for a link that the user
    /// carries.
    opener: Option<Ancestor>,
}

impl std::fmt::Debug for Logins {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Logins(…)")
    }
}

impl Logins {
    /// Reads the key in `home`, or makes a missing one. A change of `token` ends every login too.
    pub(super) fn open(home: &Path, token: Arc<WatchedFile<Secret>>) -> io::Result<Self> {
        let key = Arc::new(WatchedFile::new(key_path(home), read_or_make));
        key.get()?;
        Ok(Self { key, token, links: Arc::default() })
    }

    /// Makes a link that logs one browser in, once, within two minutes; returns its path on this listener. `opener` is the
    /// process below which a program gets the link as an argument.
    pub(crate) fn issue(&self, opener: Option<Ancestor>) -> io::Result<String> {
        let nonce = random()?;
        let seal = self.seal(&["link", nonce.as_str()])?;
        let link = Link { seal, expires: Instant::now() + LINK_LIFE, opener };
        let mut links = lock(&self.links);
        while links.len() >= MAX_LINKS {
            links.pop_front();
        }
        links.push_back(link);
        Ok(format!("{}{}", crate::LOGIN_PATH, nonce.as_str()))
    }

    /// Returns the opener of a link that was given to a browser.
    pub(crate) fn opener(&self, nonce: &str) -> Option<Ancestor> {
        let seal = logged(self.seal(&["link", nonce]))?;
        lock(&self.links).iter().find(|link| bool::from(link.seal.ct_eq(&seal)))?.opener
    }

    /// Returns the cookie for a link's nonce, if the link is known, fresh and unspent; it is spent now.
    pub(crate) fn redeem(&self, nonce: &str) -> Option<String> {
        let seal = logged(self.seal(&["link", nonce]))?;
        let now = Instant::now();
        let mut links = lock(&self.links);
        links.retain(|link| link.expires > now);
        let found = links.iter().position(|link| bool::from(link.seal.ct_eq(&seal)))?;
        links.remove(found);
        drop(links);
        let number = random().ok()?;
        let until = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs() + COOKIE_LIFE.as_secs();
        let until = until.to_string();
        let seal = hex::encode(&logged(self.seal(&["login", &until, number.as_str()]))?);
        Some(format!("{until}.{}.{seal}", number.as_str()))
    }

    /// Returns a new cookie for a user, whose login has this generation.
    pub(crate) fn cookie_of_user(&self, user: &str, generation: i64) -> Option<String> {
        let number = random().ok()?;
        let until = now()?.saturating_add(USER_COOKIE_LIFE.as_secs()).to_string();
        let (generation, user) = (generation.to_string(), hex::encode(user.as_bytes()));
        let parts = [until.as_str(), number.as_str(), &generation, &user];
        let seal = hex::encode(&logged(self.seal(&[&["user login"], &parts[..]].concat()))?);
        Some(format!("{OF_USER}.{}.{seal}", parts.join(".")))
    }

    /// Returns the user and the generation of a user's cookie with a valid seal that has not expired.
    pub(crate) fn user_of(&self, cookie: &str) -> Option<(String, i64)> {
        let parts: Vec<&str> = cookie.split('.').collect();
        let [OF_USER, until, number, generation, user, seal] = parts[..] else { return None };
        let expected = logged(self.seal(&["user login", until, number, generation, user]))?;
        let sealed: bool = hex::encode(&expected).as_bytes().ct_eq(seal.as_bytes()).into();
        if !sealed || until.parse::<u64>().ok()? <= now()? {
            return None;
        }
        let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
        let user: Option<Vec<u8>> = user.as_bytes().chunks(2).map(byte).collect();
        Some((String::from_utf8(user?).ok()?, generation.parse().ok()?))
    }

    /// Returns whether a cookie has a valid seal and has not expired.
    pub(crate) fn recognize(&self, cookie: &str) -> bool {
        let mut parts = cookie.split('.');
        let (Some(until), Some(number), Some(seal), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return false;
        };
        let Some(expected) = logged(self.seal(&["login", until, number])) else { return false };
        let sealed: bool = hex::encode(&expected).as_bytes().ct_eq(seal.as_bytes()).into();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(u64::MAX, |now| now.as_secs());
        sealed && until.parse::<u64>().is_ok_and(|until| until > now)
    }

    /// Seals `parts`, for the present key and the present token.
    fn seal(&self, parts: &[&str]) -> io::Result<[u8; 32]> {
        let (key, token) = (self.key.get()?, self.token.get()?);
        Ok(keyed(&Sha256::digest(key.as_str()).into(), &[&[token.as_str()], parts].concat()))
    }
}

/// Returns the seconds since 1970; `None` for a clock before that.
fn now() -> Option<u64> {
    Some(SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs())
}

/// Returns the path of the key, which is made at random and never given to an agent.
pub(super) fn key_path(home: &Path) -> PathBuf {
    home.join("login-key")
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
    use std::fs;

    use super::*;

    fn logins(home: &Path) -> Logins {
        Logins::open(home, Arc::new(WatchedFile::new(home.join("token"), read_or_make))).unwrap()
    }

    fn log_in(logins: &Logins) -> String {
        logins.redeem(logins.issue(None).unwrap().strip_prefix("/login/").unwrap()).unwrap()
    }

    #[test]
    fn a_cookie_is_known_to_the_key_and_the_token_that_sealed_it() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path();
        let logins = logins(home);
        let cookie = log_in(&logins);
        assert!(logins.recognize(&cookie));
        assert!(self::logins(home).recognize(&cookie), "a restart keeps logins");

        let (until, rest) = cookie.split_once('.').unwrap();
        let longer = format!("{}.{rest}", until.parse::<u64>().unwrap() + 1);
        assert!(!logins.recognize(&longer), "the end is part of the seal");
        for broken in ["", ".", "..", "a.b.c", &cookie[1..], &format!("{cookie}.x")] {
            assert!(!logins.recognize(broken), "{broken}");
        }

        for file in ["token", "login-key"] {
            let cookie = log_in(&logins);
            let link = logins.issue(None).unwrap();
            fs::remove_file(home.join(file)).unwrap();
            assert!(!logins.recognize(&cookie), "a new {file} ends every login");
            assert!(logins.redeem(link.strip_prefix("/login/").unwrap()).is_none(), "and every link");
        }
    }

    #[test]
    fn a_cookie_of_a_user_is_no_other_cookie() {
        let folder = tempfile::tempdir().unwrap();
        let logins = logins(folder.path());
        let cookie = logins.cookie_of_user("änn.b", 7).unwrap();
        assert_eq!(logins.user_of(&cookie), Some(("änn.b".to_owned(), 7)));
        assert_ne!(
            logins.cookie_of_user("änn.b", 7),
            Some(cookie.clone()),
            "each login has a number of its own"
        );
        assert!(!logins.recognize(&cookie) && !logins.recognize(&cookie[2..]), "not that of the owner");
        let owner = log_in(&logins);
        assert!(logins.user_of(&owner).is_none() && logins.user_of(&format!("u.{owner}")).is_none());
        let parts: Vec<&str> = cookie.split('.').collect();
        for (at, other) in [(1, "99999999999"), (3, "8"), (4, "6f776e6572"), (4, ""), (5, "00"), (5, "")] {
            let mut forged = parts.clone();
            forged[at] = other;
            assert_eq!(logins.user_of(&forged.join(".")), None, "{forged:?}");
        }
        fs::remove_file(folder.path().join("login-key")).unwrap();
        assert_eq!(logins.user_of(&cookie), None, "a new key ends every login");
    }

    #[test]
    fn links_are_bounded_and_single_use() {
        let home = tempfile::tempdir().unwrap();
        let logins = logins(home.path());
        let first = logins.issue(None).unwrap();
        let rest: Vec<_> = (0..MAX_LINKS).map(|_| logins.issue(None).unwrap()).collect();
        assert!(logins.redeem(first.strip_prefix("/login/").unwrap()).is_none(), "the oldest made room");
        let last = rest.last().unwrap().strip_prefix("/login/").unwrap();
        assert!(logins.redeem(last).is_some());
        assert!(logins.redeem(last).is_none());
    }
}
