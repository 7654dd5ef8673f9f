//! Workers that join, and what workers say of themselves.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use nkeys::KeyPair;

use super::Hub;
use crate::protocol::{EarlierKey, Greeting, Hello, Join, Joined, Renewed, Versioned, version_fault};
use adjutant_agents::worker_registry::{Report, words};

/// Characters of the name of a worker, its runners and its labels.
const MAX_TEXT: usize = 400;

impl Hub {
    /// Returns the answer to a worker; `None` for a worker that this hub does not know, because another hub may know
    /// it.
    pub(super) async fn greeting(&self, id: &str, payload: &[u8]) -> Option<Greeting> {
        let Versioned { version } = serde_json::from_slice(payload).ok()?;
        let hello: Option<Hello> = serde_json::from_slice(payload).ok();
        if self.account.is_some() {
            let known = self.agents.worker(id).await.ok()??;
            if known.revoked_at.is_some() {
                return Some(Greeting::Revoked);
            }
        }
        let worker = match &hello {
            None => None,
            Some(hello) => {
                let list = |words: &[String]| text(&words.join(" "));
                let report = Report {
                    id: id.to_owned(),
                    name: text(&hello.name),
                    version: text(&hello.program),
                    protocol: i64::from(version),
                    runners: list(&hello.runners),
                    labels: list(&hello.labels),
                    max_tasks: i64::try_from(hello.max_tasks).unwrap_or(i64::MAX),
                    now: 0,
                };
                self.agents.report_of_worker(report).await.ok()?
            }
        };
        if let Some(reason) = version_fault(version) {
            return Some(Greeting::OtherVersion { reason });
        }
        let (hello, worker) = (hello?, worker?);
        if worker.revoked_at.is_some() {
            return Some(Greeting::Revoked);
        }
        Some(Greeting::Known {
            program: env!("CARGO_PKG_VERSION").to_owned(),
            draining: worker.draining != 0,
            renewed: self.renewed(&worker.id, &worker.name, &hello, words(&worker.labels)).await,
        })
    }

    /// Returns a new token for a worker, if the present one ends within half of a lifetime.
    async fn renewed(&self, id: &str, name: &str, hello: &Hello, labels: Vec<String>) -> Option<Renewed> {
        let (account, ends) = (self.account.as_ref()?, hello.expires_at?);
        let lifetime = self.config.credentials_lifetime;
        if ends > millis(SystemTime::now() + lifetime / 2) {
            return None;
        }
        let expires = SystemTime::now() + lifetime;
        let jwt = account.worker(id, name, expires).ok()?;
        let expires_at = millis(expires);
        self.agents.renew_worker(id, expires_at).await.ok()?.then_some(Renewed { jwt, expires_at, labels })
    }

    /// Returns the answer to a worker with a code; `None` for a code that another hub may know.
    pub(super) async fn joined(&self, code: &str, payload: &[u8]) -> Option<Joined> {
        let account = self.account.as_ref()?;
        let refused = |reason: String| Some(Joined::Refused { reason });
        let Versioned { version } = serde_json::from_slice(payload).ok()?;
        if let Some(reason) = version_fault(version) {
            return refused(reason);
        }
        let join: Join = serde_json::from_slice(payload).ok()?;
        let expires = SystemTime::now() + self.config.credentials_lifetime;
        let (name, expires_at) = (text(&join.name), millis(expires));
        let Ok(jwt) = account.worker(&join.worker, &name, expires) else {
            return refused("its key is not valid".to_owned());
        };
        let earlier = join.earlier.as_ref().filter(|earlier| is_proved(earlier, &join.worker));
        let earlier = earlier.map(|earlier| earlier.worker.as_str());
        match self.agents.join_worker(code, &join.worker, &name, expires_at, earlier).await {
            Ok(Some(labels)) => {
                tracing::info!(worker = join.worker, name, "a worker joined");
                Some(Joined::Welcome(Renewed { jwt, expires_at, labels }))
            }
            Ok(None) if self.agents.knows_code(code).await.unwrap_or(false) => refused(
                "the code has expired or was used; `adjutant worker invite` makes a new code".to_owned(),
            ),
            Ok(None) => None,
            Err(error) => refused(error.to_string()),
        }
    }
}

/// Returns whether the worker with the public key `new` has the earlier key too.
fn is_proved(earlier: &EarlierKey, new: &str) -> bool {
    let Ok(signature) = BASE64_STANDARD.decode(&earlier.signature) else { return false };
    KeyPair::from_public_key(&earlier.worker).is_ok_and(|key| key.verify(new.as_bytes(), &signature).is_ok())
}

/// Returns the first [`MAX_TEXT`] characters of a worker's text, without control characters.
fn text(given: &str) -> String {
    given.chars().filter(|c| !c.is_control()).take(MAX_TEXT).collect()
}

fn millis(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::prelude::BASE64_STANDARD;
    use nkeys::KeyPair;

    use super::{EarlierKey, is_proved};

    #[test]
    fn an_earlier_key_counts_for_the_worker_that_has_it_alone() {
        let (old, new) = (KeyPair::new_user(), KeyPair::new_user().public_key());
        let signature = BASE64_STANDARD.encode(old.sign(new.as_bytes()).unwrap());
        let proof = |worker: &KeyPair, signature: &str| EarlierKey {
            worker: worker.public_key(),
            signature: signature.to_owned(),
        };
        assert!(is_proved(&proof(&old, &signature), &new));
        let another = KeyPair::new_user();
        assert!(!is_proved(&proof(&old, &signature), &another.public_key()));
        assert!(!is_proved(&proof(&another, &signature), &new));
        assert!(!is_proved(&proof(&old, "x"), &new) && !is_proved(&proof(&old, ""), &new));
    }
}
