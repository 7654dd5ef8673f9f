//! Files that hold secrets, by their names.

/// Folders of keys and logins.
const FOLDERS: &[&str] =
    &[".adjutant", ".aws", ".azure", ".docker", ".gnupg", ".kube", ".password-store", ".ssh", "gcloud"];

/// Beginnings of names.
const BEGINNINGS: &[&str] = &[
    ".env",
    ".git-credentials",
    ".htpasswd",
    ".netrc",
    ".npmrc",
    ".pgpass",
    ".pypirc",
    "_netrc",
    "credential",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "id_rsa",
    "secret",
];

/// Ends of names.
const ENDS: &[&str] = &[".env", ".jks", ".kdbx", ".key", ".keystore", ".p12", ".pem", ".pfx"];

/// Returns whether a path leads to keys, logins or other secrets, as far as names show that.
pub(crate) fn is_secret(path: &str) -> bool {
    path.split(['/', '=', ':', '@', ',']).any(|name| {
        let name = name.to_lowercase();
        FOLDERS.contains(&name.as_str())
            || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
            || ENDS.iter().any(|end| name.ends_with(end))
    })
}
