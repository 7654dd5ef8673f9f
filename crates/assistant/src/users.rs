//! Users, their calendars and their rules.

use jiff::Timestamp;
use serde_json::Value;

use super::event::Refresh;
use super::ids;
use super::rows::{self, json, millis};
use super::{Assistant, Calendar, Error, Rule, User, UserId};
use adjutant_base::events::Event as HubEvent;
use adjutant_store::assistant::audit::AuditRow;
use adjutant_store::assistant::calendars::{self, CalendarRow};
use adjutant_store::assistant::rules::{self, RuleRow};
use adjutant_store::assistant::users::{self, UserRow};

/// The longest name, mail address and other line that a user has.
const MAX_LINE_CHARS: usize = 200;

impl Assistant {
    /// Returns a user.
    pub async fn user(&self, id: &UserId) -> Result<User, Error> {
        let row = users::get(&self.store, id.as_str()).await?;
        rows::user(row.ok_or_else(|| Error::Unknown { what: "user", id: id.to_string() })?)
    }

    /// Returns the user whose mail address this is, to the letter.
    pub async fn user_with_email(&self, email: &str) -> Result<Option<User>, Error> {
        users::with_email(&self.store, email).await?.map(rows::user).transpose()
    }

    /// Returns at most `limit` users by id, after `after`.
    pub async fn users(&self, after: Option<&UserId>, limit: u32) -> Result<Vec<User>, Error> {
        let after = after.map_or("", UserId::as_str);
        users::list(&self.store, after, limit).await?.into_iter().map(rows::user).collect()
    }

    /// Adds a user, or changes the one with this id. `actor` is named in the audit. The store sets the revision and the
    /// time of creation.
    pub async fn put_user(&self, user: &User, actor: &str, now: Timestamp) -> Result<(), Error> {
        check(user)?;
        let row = UserRow {
            id: user.id.as_str().to_owned(),
            name: user.name.clone(),
            email: user.email.clone(),
            phone: user.phone.clone(),
            preferences: json(&user.preferences),
            revision: 1,
            created_at: millis(now),
            updated_at: millis(now),
        };
        let audit = audit(actor, "put user", user.id.as_str(), "", now)?;
        if !users::put(&self.store, row, audit).await? {
            let value = user.email.clone().unwrap_or_default();
            return Err(Error::AlreadyExists { field: "email", value });
        }
        self.events.send(HubEvent::CalendarChanged);
        Ok(())
    }

    /// Removes a user and everything that belongs to the user.
    pub async fn remove_user(&self, id: &UserId, actor: &str, now: Timestamp) -> Result<(), Error> {
        let audit = audit(actor, "remove user", id.as_str(), "", now)?;
        if !users::remove(&self.store, id.as_str().to_owned(), audit).await? {
            return Err(Error::Unknown { what: "user", id: id.to_string() });
        }
        self.events.send(HubEvent::CalendarChanged);
        Ok(())
    }

    /// Returns a user's calendars by name.
    pub async fn calendars(&self, user: &UserId) -> Result<Vec<Calendar>, Error> {
        calendars::list(&self.store, user.as_str()).await?.into_iter().map(rows::calendar).collect()
    }

    /// Adds a calendar, or records the answer of its server; the same place of the same user is the same calendar. The
    /// answer has its id.
    pub async fn put_calendar(&self, calendar: &Calendar) -> Result<Calendar, Error> {
        self.user(&calendar.user).await?;
        let row = CalendarRow {
            id: calendar.id.as_str().to_owned(),
            user_id: calendar.user.as_str().to_owned(),
            name: calendar.name.clone(),
            source: calendar.source.name().to_owned(),
            place: calendar.place.clone(),
            etag: calendar.etag.clone(),
            sync_token: calendar.sync_token.clone(),
            read_at: calendar.read_at.map(millis),
            refresh: String::new(),
        };
        rows::calendar(calendars::put(&self.store, row).await?)
    }

    /// Returns the calendars of all users that a hub reads again.
    pub async fn refreshed_calendars(&self) -> Result<Vec<Calendar>, Error> {
        calendars::refreshed(&self.store).await?.into_iter().map(rows::calendar).collect()
    }

    /// Records how a hub reads a calendar again; with `None` it does not.
    pub async fn set_refresh(&self, calendar: &Calendar, refresh: Option<&Refresh>) -> Result<(), Error> {
        let refresh = refresh.map(json).unwrap_or_default();
        Ok(calendars::set_refresh(&self.store, calendar.id.as_str().to_owned(), refresh).await?)
    }

    /// Returns a user's rules, highest priority first.
    pub async fn rules(&self, user: &UserId) -> Result<Vec<Rule>, Error> {
        rules::list(&self.store, user.as_str()).await?.into_iter().map(rows::rule).collect()
    }

    /// Adds a rule, or changes the one with this id.
    pub async fn put_rule(&self, rule: &Rule) -> Result<(), Error> {
        self.user(&rule.user).await?;
        if rule.priority > 100 {
            return Err(Error::Invalid { field: "priority", reason: "it must be 0 to 100".to_owned() });
        }
        let term = rule.kind.term();
        let value = rule.terms.get(term).filter(|_| rule.terms.len() == 1);
        let is_text = |value: &Value| value.as_str().is_some_and(|text| !text.trim().is_empty());
        if !value.is_some_and(|value| if term == "minutes" { value.is_u64() } else { is_text(value) }) {
            let reason = format!("{} takes `{term}` and nothing else", rule.kind.name());
            return Err(Error::Invalid { field: "rule", reason });
        }
        let row = RuleRow {
            id: rule.id.as_str().to_owned(),
            user_id: rule.user.as_str().to_owned(),
            kind: rule.kind.name().to_owned(),
            terms: json(&rule.terms),
            enabled: rule.enabled.into(),
            priority: rule.priority.into(),
        };
        Ok(rules::put(&self.store, row).await?)
    }

    /// Removes a rule.
    pub async fn remove_rule(&self, user: &UserId, id: &super::RuleId) -> Result<(), Error> {
        let (user, rule) = (user.as_str().to_owned(), id.as_str().to_owned());
        if rules::remove(&self.store, user, rule).await? {
            return Ok(());
        }
        Err(Error::Unknown { what: "rule", id: id.to_string() })
    }
}

/// Makes a line of the audit.
pub(super) fn audit(
    actor: &str,
    action: &str,
    subject: &str,
    detail: &str,
    now: Timestamp,
) -> Result<AuditRow, Error> {
    Ok(AuditRow {
        id: ids::audit_id()?,
        at: millis(now),
        actor: actor.chars().take(MAX_LINE_CHARS).collect(),
        action: action.to_owned(),
        subject: subject.to_owned(),
        detail: detail.to_owned(),
    })
}

fn check(user: &User) -> Result<(), Error> {
    let fault = |field, reason: &str| Err(Error::Invalid { field, reason: reason.to_owned() });
    let line = |text: &str| text.chars().count() <= MAX_LINE_CHARS && !text.contains(char::is_control);
    if user.name.trim().is_empty() || !line(&user.name) {
        return fault("name", "it must be one line of at most 200 characters, and not empty");
    }
    if let Some(email) = &user.email {
        let parts = email.split_once('@');
        let fits =
            parts.is_some_and(|(name, host)| !name.is_empty() && !host.is_empty() && !host.contains('@'));
        if !fits || !line(email) || email.contains(char::is_whitespace) {
            return fault("email", "it must look like ann@example.org");
        }
    }
    if let Some(phone) = &user.phone {
        let digits = phone.strip_prefix('+').unwrap_or_default();
        if !(7..=15).contains(&digits.len()) || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return fault("phone", "it must be a number with its country, such as +15550100200");
        }
    }
    let preferences = &user.preferences;
    if !(1..=10).contains(&preferences.max_calls) {
        return fault("max_calls", "it must be 1 to 10");
    }
    if !(1..=1440).contains(&preferences.escalation_minutes) {
        return fault("escalation_minutes", "it must be 1 to 1440");
    }
    if !(1..=1440).contains(&preferences.ladder_minutes) || preferences.ladder.len() > 6 {
        return fault("ladder", "it has at most 6 steps of 1 to 1440 minutes");
    }
    let topic = preferences.ntfy_topic.as_deref().unwrap_or("topic");
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if topic.is_empty() || topic.len() > 64 || !topic.bytes().all(letter) {
        return fault("ntfy_topic", "it must be 1 to 64 letters, digits, `-` or `_`");
    }
    let hook = preferences.webhook_url.as_deref().unwrap_or("http://host");
    if !(hook.starts_with("http://") || hook.starts_with("https://")) || hook.len() > 2000 {
        return fault("webhook_url", "it must be an address with http:// or https://");
    }
    if !line(&preferences.locale) || !line(&preferences.voice) {
        return fault("locale", "locale and voice must be one line each");
    }
    Ok(())
}
