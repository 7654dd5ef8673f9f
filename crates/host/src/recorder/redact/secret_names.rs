//! Names of members, variables, settings and headers that hold a secret.

/// Whole names of secrets, in lower case without `-` and `_`; each is also the last word of a longer name.
const WORDS: &[&str] = &[
    "credential",
    "credentials",
    "creds",
    "passwd",
    "pwd",
    "pass",
    "pw",
    "bearer",
    "jwt",
    "pat",
    "sig",
    "dsn",
    "psk",
    "sshpass",
];
/// Ends of such names: `x-api-key`, `OPENAI_API_KEY`, `refreshToken`.
const ENDINGS: &[&str] = &[
    "authorization",
    "cookie",
    "apikey",
    "accesskey",
    "accesskeyid",
    "privatekey",
    "signingkey",
    "encryptionkey",
    "accountkey",
    "authkey",
    "masterkey",
    "secretkey",
    "sharedkey",
    "storagekey",
    "subscriptionkey",
    "licensekey",
    "servicekey",
    "adminkey",
    "hmackey",
    "deploykey",
    "password",
    "passphrase",
    "passcode",
    "secret",
    "token",
    "xamzsignature",
    "xgoogsignature",
    "codeverifier",
    "clientassertion",
    "privatekeypem",
    "sshkey",
    "storepass",
    "keypass",
    "hubsignature",
    "requirepass",
    "masterauth",
    "bindpw",
    "rootpw",
    "secretstring",
    "jsessionid",
    "phpsessid",
    "laravelsession",
    "netsessionid",
    "connect.sid",
    "samlresponse",
    "recoverycode",
    "backupcode",
];
/// Last words of names that hold a secret where it looks like one: `routing_key`, `hash_salt`.
const GENERIC: &[&str] = &["key", "salt", "secretid", "oauthsignature"];
/// Words in the names of keys that are not secret.
const PUBLIC: &[&str] = &[
    "public",
    "pub",
    "publishable",
    "websocket",
    "idempotency",
    "cache",
    "foreign",
    "primary",
    "partition",
    "host",
    "site",
    "etag",
];
/// Names of MCP that have such an end and are not secret.
const HARMLESS: &[&str] = &["progresstoken", "canceltoken", "tasktoken", "pagetoken", "nextpagetoken"];

/// Returns whether a name is that of a secret.
pub(super) fn is_secret(name: &[u8]) -> bool {
    let bare = bare(name);
    if HARMLESS.contains(&bare.as_str()) {
        return false;
    }
    let upper = !name.iter().any(u8::is_ascii_lowercase);
    let word = last_word(name);
    // `X-Custom-Auth`
    bare == "auth"
        || word == "auth" && name.to_ascii_lowercase().starts_with(b"x-")
        || WORDS.contains(&word.as_str())
        || ENDINGS.iter().any(|ending| bare.ends_with(ending))
        || upper && word == "key"
}

/// Returns whether a name may be that of a secret. The form of its value decides.
pub(super) fn is_generic(name: &[u8]) -> bool {
    let bare = bare(name);
    GENERIC.iter().any(|word| bare.ends_with(word)) && !PUBLIC.iter().any(|word| bare.contains(word))
}

/// Returns a name in lower case without the signs between its words.
fn bare(name: &[u8]) -> String {
    let letters = name.iter().filter(|byte| !matches!(byte, b'-' | b'_' | b' '));
    letters.map(|byte| char::from(byte.to_ascii_lowercase())).collect()
}

/// Returns the last word of a name, in lower case: `pwd` of `userPWD`, `DB_PWD` and `dbPwd`.
fn last_word(name: &[u8]) -> String {
    let last = name.iter().rposition(|byte| matches!(byte, b'-' | b'_')).map_or(0, |at| at + 1);
    let word = &name[last..];
    let capitals = word.iter().rev().take_while(|byte| byte.is_ascii_uppercase()).count();
    let hump = if capitals > 0 {
        word.len() - capitals
    } else {
        word.iter().rposition(u8::is_ascii_uppercase).unwrap_or_default()
    };
    String::from_utf8_lossy(&word[hump..]).to_ascii_lowercase()
}
