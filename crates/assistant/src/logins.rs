//! Logins of users to the console: a role, and a password unless the user logs in at an identity provider alone.
//!
//! The store keeps an argon2id verifier, never the password. Every change of a login grows its generation, so that the
//! logins before it end.

use std::collections::HashMap;
use std::sync::LazyLock;

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use jiff::Timestamp;
use tokio::sync::Semaphore;

use super::rows::millis;
use super::users::audit;
use super::{Assistant, Error, User, UserId};
use adjutant_base::text::random_id::random_id;
use adjutant_store::assistant::logins::{self, LoginRow};

/// Passwords that are checked at the same time: each takes a core and 19 MiB for a moment.
static CHECKS: Semaphore = Semaphore::const_new(2);

/// The verifier for a user without a login, so that its check takes as long as any other.
static NO_LOGIN: LazyLock<Option<String>> = LazyLock::new(|| hash(&random_id::<20>().ok()?).ok());

adjutant_base::named_enum! {
    /// The role of a login, which limits the acts of its user.
    Role {
        /// Sees questions for all and those for the user, and answers the latter.
        User = "user",
        /// Does everything that the console offers.
        Operator = "operator",
        /// Sees the same as a user, and answers nothing.
        Viewer = "viewer",
    }
}

/// An act at the console.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Reads questions, prompts, agents and tasks.
    Read,
    /// Answers or snoozes a question, or declines it.
    Answer,
    /// Everything else: sessions, calendars, tasks, settings, activity.
    Operate,
}

impl Role {
    /// Returns whether the role includes an act.
    pub fn includes(self, act: Act) -> bool {
        match self {
            Self::Operator => true,
            Self::User => matches!(act, Act::Read | Act::Answer),
            Self::Viewer => act == Act::Read,
        }
    }
}

/// The login of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    pub user: UserId,
    pub name: String,
    pub role: Role,
    /// Grows with each change.
    pub generation: i64,
}

impl Assistant {
    /// Returns the login of a user; `None` if the user has none.
    pub async fn login(&self, user: &str) -> Result<Option<Login>, Error> {
        Ok(logins::get(&self.store, user).await?.and_then(login))
    }

    /// Returns the roles of those users of a page that have a login.
    pub async fn roles(&self, page: &[User]) -> Result<HashMap<UserId, Role>, Error> {
        let (Some(first), Some(last)) = (page.first(), page.last()) else { return Ok(HashMap::new()) };
        let found = logins::roles(&self.store, first.id.as_str(), last.id.as_str()).await?;
        let role = |(id, name): (String, String)| Some((UserId::from_row(id), Role::from_name(&name)?));
        Ok(found.into_iter().filter_map(role).collect())
    }

    /// Returns whether any user has a login.
    pub async fn has_logins(&self) -> Result<bool, Error> {
        Ok(logins::exist(&self.store).await?)
    }

    /// Returns the login of the user with this password; `None` if there is no such user, no login, or a different password. Takes
    /// as long in each case.
    pub async fn check_password(&self, user: &str, password: &str) -> Result<Option<Login>, Error> {
        let found = logins::get(&self.store, user).await?;
        let verifier = found.as_ref().map(|row| row.password.clone()).filter(|verifier| !verifier.is_empty());
        let password = password.to_owned();
        let _permit = CHECKS.acquire().await;
        let checked = tokio::task::spawn_blocking(move || {
            let (verifier, is_known) = match verifier {
                Some(verifier) => (Some(verifier), true),
                None => (NO_LOGIN.clone(), false),
            };
            let Some(verifier) = verifier else { return false };
            let Ok(hash) = PasswordHash::new(&verifier) else { return false };
            Argon2::default().verify_password(password.as_bytes(), &hash).is_ok() && is_known
        });
        let is_right = checked.await.unwrap_or(false);
        Ok(found.filter(|_| is_right).and_then(login))
    }

    /// Gives a user a login with this role and password, or changes it. The logins before end. `actor` is for the audit.
    pub async fn set_login(
        &self,
        user: &UserId,
        role: Role,
        password: String,
        actor: &str,
        now: Timestamp,
    ) -> Result<(), Error> {
        if !(10..=1024).contains(&password.chars().count()) {
            let reason = "it must have 10 to 1024 characters".to_owned();
            return Err(Error::Invalid { field: "password", reason });
        }
        check_id(user)?;
        let failed = || Error::Invalid { field: "password", reason: "it could not be stored".to_owned() };
        let hashed = tokio::task::spawn_blocking(move || hash(&password)).await;
        let verifier = hashed.map_err(|_| failed())?.map_err(|_| failed())?;
        let row = (user.as_str().to_owned(), role.name().to_owned(), verifier);
        let audit = audit(actor, "set login", user.as_str(), role.name(), now)?;
        if logins::put(&self.store, row, millis(now), audit).await? {
            return Ok(());
        }
        Err(Error::Unknown { what: "user", id: user.to_string() })
    }

    /// Changes the role of a login, and ends the logins before. If `gives_login`, a user without one gets one that has no password:
    /// the user logs in at the identity provider.
    pub async fn set_role(
        &self,
        user: &UserId,
        role: Role,
        gives_login: bool,
        actor: &str,
        now: Timestamp,
    ) -> Result<(), Error> {
        check_id(user)?;
        let audit = audit(actor, "set role", user.as_str(), role.name(), now)?;
        let login = (user.as_str().to_owned(), role.name().to_owned());
        if logins::set_role(&self.store, login, gives_login, millis(now), audit).await? {
            return Ok(());
        }
        let what = if gives_login { "user" } else { "login of user" };
        Err(Error::Unknown { what, id: user.to_string() })
    }

    /// Takes the login of a user away.
    pub async fn remove_login(&self, user: &UserId, actor: &str, now: Timestamp) -> Result<(), Error> {
        let audit = audit(actor, "remove login", user.as_str(), "", now)?;
        if logins::remove(&self.store, user.as_str().to_owned(), audit).await? {
            return Ok(());
        }
        Err(Error::Unknown { what: "login of user", id: user.to_string() })
    }

    /// Ends the logins of a user in all browsers.
    pub async fn end_logins(&self, user: &UserId) -> Result<(), Error> {
        Ok(logins::end(&self.store, user.as_str().to_owned()).await?)
    }
}

/// Rejects an id that would mean several users, or a group, in the list of whom a question is for.
fn check_id(user: &UserId) -> Result<(), Error> {
    if user.as_str().contains('|') || user.as_str().starts_with('@') {
        let reason = "the id of a user who logs in has no `|` and does not start with `@`".to_owned();
        return Err(Error::Invalid { field: "id", reason });
    }
    Ok(())
}

/// Returns the login of a row; a role of a later version gives none.
fn login(row: LoginRow) -> Option<Login> {
    let LoginRow { user_id, name, role, generation, .. } = row;
    Some(Login { user: UserId::from_row(user_id), name, role: Role::from_name(&role)?, generation })
}

fn hash(password: &str) -> Result<String, argon2::password_hash::Error> {
    Argon2::default().hash_password(password.as_bytes()).map(|hash| hash.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use adjutant_base::config::Database;
    use adjutant_base::events::Events;
    use adjutant_store::Store;

    #[test]
    fn each_role_includes_the_acts_of_the_table() {
        let table = [
            (Role::Viewer, [(Act::Read, true), (Act::Answer, false), (Act::Operate, false)]),
            (Role::User, [(Act::Read, true), (Act::Answer, true), (Act::Operate, false)]),
            (Role::Operator, [(Act::Read, true), (Act::Answer, true), (Act::Operate, true)]),
        ];
        assert_eq!(table.len(), Role::ALL.len());
        for (role, acts) in table {
            for (act, expected) in acts {
                assert_eq!(role.includes(act), expected, "{role:?} {act:?}");
            }
        }
    }

    #[tokio::test]
    async fn a_login_needs_its_password_and_each_change_ends_the_logins_before() {
        let assistant = Assistant::new(Store::new(Database::Memory), Events::new());
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let ann = UserId::parse("ann").unwrap();
        let set = async |role, password: &str| {
            assistant.set_login(&ann, role, password.to_owned(), "test", now).await
        };
        assert!(matches!(set(Role::User, "long enough").await, Err(Error::Unknown { .. })));
        let user = User {
            id: ann.clone(),
            name: "Ann".to_owned(),
            email: None,
            phone: None,
            preferences: crate::Preferences::default(),
            revision: 1,
            created_at: now,
            updated_at: now,
        };
        assistant.put_user(&user, "test", now).await.unwrap();
        assert!(!assistant.has_logins().await.unwrap());
        assert!(matches!(set(Role::User, "short").await, Err(Error::Invalid { field: "password", .. })));
        set(Role::User, "long enough").await.unwrap();
        assert!(assistant.has_logins().await.unwrap());
        for (user, password) in [("ann", "long enough "), ("ann", ""), ("bob", "long enough"), ("", "")] {
            assert_eq!(assistant.check_password(user, password).await.unwrap(), None, "{user} {password}");
        }
        let first = assistant.check_password("ann", "long enough").await.unwrap().unwrap();
        assert_eq!((first.role, first.name.as_str()), (Role::User, "Ann"));
        assistant.set_role(&ann, Role::Viewer, false, "test", now).await.unwrap();
        let second = assistant.login("ann").await.unwrap().unwrap();
        assert!(second.role == Role::Viewer && second.generation > first.generation);
        set(Role::Viewer, "another one").await.unwrap();
        let third = assistant.login("ann").await.unwrap().unwrap();
        assert!(third.generation > second.generation);
        assistant.end_logins(&ann).await.unwrap();
        assert!(assistant.login("ann").await.unwrap().unwrap().generation > third.generation);
        assistant.remove_login(&ann, "test", now).await.unwrap();
        assert_eq!(assistant.login("ann").await.unwrap(), None);
        // A login without a password, for an identity provider.
        let nobody = UserId::parse("nobody").unwrap();
        let put = assistant.set_role(&nobody, Role::User, true, "test", now).await;
        assert!(matches!(put, Err(Error::Unknown { .. })), "{put:?}");
        assistant.set_role(&ann, Role::User, true, "test", now).await.unwrap();
        let fourth = assistant.login("ann").await.unwrap().unwrap();
        assert_eq!(fourth.role, Role::User);
        assert_eq!(assistant.check_password("ann", "").await.unwrap(), None, "no password is none");
        assistant.set_role(&ann, Role::Viewer, true, "test", now).await.unwrap();
        let fifth = assistant.login("ann").await.unwrap().unwrap();
        assert!(fifth.role == Role::Viewer && fifth.generation > fourth.generation);
        assistant.remove_login(&ann, "test", now).await.unwrap();
        // A user that is removed loses the login too, and a new one of the same id has none.
        set(Role::User, "long enough").await.unwrap();
        assistant.remove_user(&ann, "test", now).await.unwrap();
        assistant.put_user(&user, "test", now).await.unwrap();
        assert_eq!(assistant.login("ann").await.unwrap(), None);
    }
}
