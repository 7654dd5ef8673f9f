//! The account of hubs and workers on a NATS server: its key, which makes credentials, and the server's configuration.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use nkeys::KeyPair;
use serde::{Deserialize, Serialize};

use crate::files::put_private;
use crate::invitation_code::Code;
use crate::jwt;

/// The file of the account in the home of a hub.
const FILE: &str = "workers-account.json";

/// Time added to the end of a code in its NATS token, because the clocks of the hub and the NATS server may differ. The
/// hub checks the end of a code by its own clock.
const CLOCK_TOLERANCE: Duration = Duration::from_hours(24);

/// The key of the account, and the tokens that a NATS server needs. Hubs that share workers have the same file.
#[derive(Clone, Serialize, Deserialize)]
pub struct Account {
    /// The secret key of the account.
    seed: String,
    operator: String,
    token: String,
    id: String,
    system: String,
    system_id: String,
}

impl std::fmt::Debug for Account {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Account").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Account {
    /// Returns the path of the account's file in the home of a hub.
    pub fn path(home: &Path) -> PathBuf {
        home.join(FILE)
    }

    /// Reads the account of a home; `None` where workers need no credentials. The error is a sentence.
    pub fn load(home: &Path) -> Result<Option<Self>, String> {
        let path = Self::path(home);
        match std::fs::read(&path) {
            Ok(json) => serde_json::from_slice(&json)
                .map(Some)
                .map_err(|error| format!("{} cannot be read: {error}", path.display())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(format!("{} cannot be read: {error}", path.display())),
        }
    }

    /// Reads the account of a home, or makes it. The key of the operator is not kept, so nobody can make another account
    /// for the same server.
    pub fn load_or_create(home: &Path) -> Result<Self, String> {
        if let Some(account) = Self::load(home)? {
            return Ok(account);
        }
        let (operator, own, system) =
            (KeyPair::new_operator(), KeyPair::new_account(), KeyPair::new_account());
        let account = Self {
            seed: own.seed().map_err(|error| error.to_string())?,
            operator: jwt::operator(&operator)?,
            token: jwt::account(&operator, &own.public_key(), "adjutant", true)?,
            id: own.public_key(),
            system: jwt::account(&operator, &system.public_key(), "system", false)?,
            system_id: system.public_key(),
        };
        let path = Self::path(home);
        let json = serde_json::to_vec(&account).map_err(|error| error.to_string())?;
        put_private(&path, &json)
            .map_err(|error| format!("{} cannot be written: {error}", path.display()))?;
        Ok(account)
    }

    /// Returns the part of the NATS server's configuration that lets hubs and joined workers in, and nobody else.
    pub fn server_configuration(&self) -> String {
        let mut text = String::from("# Admits only hubs of this home and the workers that they invited.\n");
        let _ = write!(
            text,
            "operator: {}\nsystem_account: {}\nresolver: MEMORY\nresolver_preload: {{\n  {}: {}\n  {}: {}\n}}\n",
            self.operator, self.system_id, self.id, self.token, self.system_id, self.system
        );
        text
    }

    /// Makes a one-time code to join with over the server at `url`, until `expires`.
    pub fn invite(&self, url: &str, expires: SystemTime) -> Result<Code, String> {
        let key = KeyPair::new_user();
        let token = jwt::invitation(&self.key()?, &key.public_key(), expires + CLOCK_TOLERANCE)?;
        Ok(Code {
            nats: url.to_owned(),
            seed: key.seed().map_err(|error| error.to_string())?,
            jwt: token,
            id: key.public_key(),
        })
    }

    /// Makes the token of a worker with the public key `worker`.
    pub(crate) fn worker(&self, worker: &str, name: &str, expires: SystemTime) -> Result<String, String> {
        jwt::worker(&self.key()?, worker, name, expires)
    }

    /// Makes a key and a token for a hub.
    pub(crate) fn hub(&self) -> Result<(KeyPair, String), String> {
        let key = KeyPair::new_user();
        let token = jwt::hub(&self.key()?, &key.public_key())?;
        Ok((key, token))
    }

    fn key(&self) -> Result<KeyPair, String> {
        KeyPair::from_seed(&self.seed)
            .map_err(|error| format!("the key of the account is not valid: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::Account;

    #[test]
    fn an_account_is_made_once_and_read_by_its_owner_alone() {
        let home = tempfile::tempdir().unwrap();
        assert!(Account::load(home.path()).unwrap().is_none());
        let made = Account::load_or_create(home.path()).unwrap();
        let again = Account::load_or_create(home.path()).unwrap();
        assert_eq!(made.server_configuration(), again.server_configuration());
        let permissions = std::fs::metadata(Account::path(home.path())).unwrap().permissions();
        assert_eq!(permissions.mode() & 0o777, 0o600);
        assert!(!format!("{made:?}{}", made.server_configuration()).contains(&made.seed));
    }
}
