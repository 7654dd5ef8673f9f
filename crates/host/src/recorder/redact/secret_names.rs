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
];
/// Names of MCP that have such an end and are not secret.
const HARMLESS: &[&str] = &["progresstoken", "canceltoken", "tasktoken", "pagetoken", "nextpagetoken"];

/// Returns whether a name is that of a secret.
pub(super) fn is_secret(name: &[u8]) -> bool {
    let bare: String = name
        .iter()
        .filter(|byte| !matches!(byte, b'-' | b'_' | b' '))
        .map(|byte| char::from(byte.to_ascii_lowercase()))
        .collect();
    if HARMLESS.contains(&bare.as_str()) {
        return false;
    }
    let upper = !name.iter().any(u8::is_ascii_lowercase);
    let last = name.iter().rposition(|byte| matches!(byte, b'-' | b'_')).map_or(0, |at| at + 1);
    let hump = name[last..].iter().rposition(u8::is_ascii_uppercase).filter(|_| !upper).map_or(0, |at| at);
    let word = String::from_utf8_lossy(&name[last + hump..]).to_ascii_lowercase();
    // `X-Custom-Auth`
    bare == "auth"
        || word == "auth" && name.to_ascii_lowercase().starts_with(b"x-")
        || WORDS.contains(&word.as_str())
        || ENDINGS.iter().any(|ending| bare.ends_with(ending))
        || upper && word == "key"
}
