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
    ".vault-token",
    "_netrc",
    "auth.json",
    "hosts.yml",
    "kubeconfig",
    "passwords",
    "secret",
];

/// Parts of names.
const PARTS: &[&str] = &[
    ".env.",
    "accesskey",
    "access_key",
    "api-key",
    "api_key",
    "apikey",
    "client_secret",
    "credential",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "id_rsa",
    "private-key",
    "private_key",
    "privatekey",
    "service-account",
    "service_account",
    "serviceaccount",
];

/// Ends of names.
const ENDS: &[&str] = &[
    ".env",
    ".gpg",
    ".jks",
    ".kdbx",
    ".key",
    ".keystore",
    ".p12",
    ".p8",
    ".pem",
    ".pfx",
    ".ppk",
    ".tfstate",
    ".tfvars",
];

/// Returns whether a path, or an option with one, leads to keys, logins or other secrets, as far as names show that.
pub(crate) fn is_secret(path: &str) -> bool {
    // `-f.env` is the option `-f` with the file `.env`.
    let glued = path.strip_prefix('-').and_then(|option| option.get(1..)).unwrap_or_default();
    path.split(['/', '=', ':', '@', ',']).chain([glued]).any(|name| {
        let name = name.to_lowercase();
        FOLDERS.contains(&name.as_str())
            || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
            || PARTS.iter().any(|part| name.contains(part))
            || ENDS.iter().any(|end| name.ends_with(end))
    })
}
