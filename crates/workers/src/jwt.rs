//! Tokens of NATS's decentralised authentication: an operator signs an account, and the account signs its users. The server
//! needs the operator and the account once; a user brings its own token.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use nkeys::KeyPair;
use serde_json::{Value, json};

use crate::protocol::{STREAM, hello_subject, inbox, join_subject};

/// Returns the token of an operator, which signs itself.
pub(crate) fn operator(operator: &KeyPair) -> Result<String, String> {
    let claims = json!({"type": "operator", "version": 2});
    sign(operator, &operator.public_key(), "adjutant", None, &claims)
}

/// Returns the token of an account without limits; only `jetstream` accounts may have streams.
pub(crate) fn account(
    operator: &KeyPair,
    account: &str,
    name: &str,
    jetstream: bool,
) -> Result<String, String> {
    let stored = if jetstream { -1 } else { 0 };
    let limits = json!({
        "subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": true, "conn": -1, "leaf": -1,
        "mem_storage": stored, "disk_storage": stored, "streams": stored, "consumer": stored,
    });
    let permissions = json!({"pub": {}, "sub": {}});
    let claims =
        json!({"type": "account", "version": 2, "limits": limits, "default_permissions": permissions});
    sign(operator, account, name, None, &claims)
}

/// Returns the token of a hub, which may do everything in the account. It has no end, because its key lives no longer than
/// the process.
pub(crate) fn hub(account: &KeyPair, hub: &str) -> Result<String, String> {
    sign(account, hub, "hub", None, &user(&[], &[]))
}

/// Returns the token of a worker: it may pull tickets, ask hubs in its own name, and read what is for itself.
pub(crate) fn worker(
    account: &KeyPair,
    worker: &str,
    name: &str,
    expires: SystemTime,
) -> Result<String, String> {
    let publish = [
        format!("adj.*.hub.{worker}"),
        hello_subject(worker),
        format!("$JS.API.CONSUMER.INFO.{STREAM}.*"),
        format!("$JS.API.CONSUMER.MSG.NEXT.{STREAM}.*"),
        format!("$JS.ACK.{STREAM}.>"),
    ];
    let subscribe = [format!("{}.>", inbox(worker)), format!("adj.*.cancel.{worker}.*")];
    sign(account, worker, name, Some(expires), &user(&publish, &subscribe))
}

/// Returns the token of an invitation: it may ask to join, and nothing else.
pub(crate) fn invitation(account: &KeyPair, invitation: &str, expires: SystemTime) -> Result<String, String> {
    let subscribe = [format!("{}.>", inbox(invitation))];
    sign(account, invitation, "invitation", Some(expires), &user(&[join_subject(invitation)], &subscribe))
}

fn user(publish: &[String], subscribe: &[String]) -> Value {
    let allow = |subjects: &[String]| {
        if subjects.is_empty() { json!({}) } else { json!({"allow": subjects}) }
    };
    json!({
        "type": "user", "version": 2, "subs": -1, "data": -1, "payload": -1,
        "pub": allow(publish), "sub": allow(subscribe),
    })
}

fn sign(
    issuer: &KeyPair,
    subject: &str,
    name: &str,
    expires: Option<SystemTime>,
    nats: &Value,
) -> Result<String, String> {
    let now = seconds(SystemTime::now());
    let mut claims = json!({
        "jti": format!("{subject}-{now}"),
        "iat": now,
        "iss": issuer.public_key(),
        "name": name,
        "sub": subject,
        "nats": nats,
    });
    if let Some(expires) = expires {
        claims["exp"] = json!(seconds(expires));
    }
    let head = json!({"typ": "JWT", "alg": "ed25519-nkey"});
    let encode = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    let text = format!("{}.{}", encode(&head), encode(&claims));
    let signature = issuer.sign(text.as_bytes()).map_err(|error| error.to_string())?;
    Ok(format!("{text}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature)))
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use base64::Engine as _;
    use base64::prelude::BASE64_URL_SAFE_NO_PAD;
    use nkeys::KeyPair;
    use serde_json::Value;

    use super::worker;

    #[test]
    fn the_token_of_a_worker_is_signed_and_names_no_subject_of_another_worker() {
        let (account, own) = (KeyPair::new_account(), KeyPair::new_user().public_key());
        let expires = SystemTime::UNIX_EPOCH + Duration::from_secs(1_900_000_000);
        let token = worker(&account, &own, "build-1", expires).unwrap();
        let (text, signature) = token.rsplit_once('.').unwrap();
        let signature = BASE64_URL_SAFE_NO_PAD.decode(signature).unwrap();
        account.verify(text.as_bytes(), &signature).unwrap();
        let claims = BASE64_URL_SAFE_NO_PAD.decode(text.split_once('.').unwrap().1).unwrap();
        let claims: Value = serde_json::from_slice(&claims).unwrap();
        assert_eq!((&claims["sub"], &claims["exp"]), (&own.clone().into(), &1_900_000_000_u64.into()));
        for subjects in [&claims["nats"]["pub"]["allow"], &claims["nats"]["sub"]["allow"]] {
            for subject in subjects.as_array().unwrap() {
                let subject = subject.as_str().unwrap();
                assert!(subject.contains(&own) || subject.starts_with("$JS."), "{subject}");
            }
        }
    }
}
