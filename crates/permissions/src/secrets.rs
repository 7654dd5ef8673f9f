//! Files that hold secrets, by their names.

use std::path::Path;

/// Whole names of folders and files.
const NAMES: &[&str] =
    &[".adjutant", ".aws", ".azure", ".docker", ".gnupg", ".kube", ".password-store", ".ssh", "gcloud"];

/// Names of files of data, without their end.
const DATA: &[&str] = &["htpasswd", "password", "token", "tokens"];

/// Ends of files of data: `token.json` is a secret, and `token.rs` is none.
const DATA_ENDS: &[&str] = &[".cfg", ".conf", ".csv", ".ini", ".json", ".toml", ".txt", ".yaml", ".yml"];

/// Beginnings of names.
const BEGINNINGS: &[&str] = &[
    ".bash_history",
    ".env",
    ".git-credentials",
    ".htpasswd",
    ".netrc",
    ".npmrc",
    ".pgpass",
    ".pypirc",
    ".vault-token",
    ".zsh_history",
    "_netrc",
    "auth.json",
    "dotenv",
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
    "firebase-adminsdk",
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
    ".asc",
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
    let ends = |end| path.ends_with(end);
    let is_of_system =
        ends("/etc/shadow") || ends("/etc/gshadow") || path.contains("/proc/") && ends("/environ");
    is_of_system
        || path.split(['/', '=', ':', '@', ',']).chain([glued]).any(|name| {
            let name = name.to_lowercase();
            NAMES.contains(&name.as_str())
                || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
                || PARTS.iter().any(|part| name.contains(part))
                || ENDS.iter().any(|end| name.ends_with(end))
                || DATA_ENDS.iter().filter_map(|end| name.strip_suffix(end)).any(is_data)
        })
}

/// Returns whether a name without its end is that of a file with secrets.
fn is_data(stem: &str) -> bool {
    DATA.contains(&stem) || stem.ends_with("-key") || stem.ends_with("_key")
}

/// Returns whether the last name of a path is that of a file with secrets, which as a word of a command means little.
pub(crate) fn is_secret_file(path: &Path) -> bool {
    path.file_name().is_some_and(|name| is_data(&name.to_string_lossy().to_lowercase()))
}
