//! Files that hold secrets, by their names.

use std::path::Path;

/// Whole names of folders and files.
const NAMES: &[&str] = &[
    ".adjutant",
    ".aws",
    ".azure",
    ".claude.json",
    ".docker",
    ".gnupg",
    ".kube",
    ".oci",
    ".password-store",
    ".ssh",
    "env.dev",
    "env.development",
    "env.local",
    "env.prod",
    "env.production",
    "env.staging",
    "gcloud",
    "github-copilot",
    "local.settings.json",
    "login data",
    "logins.json",
    "ngrok.yml",
    "rclone.conf",
    "wallet.dat",
    "wp-config.php",
];

/// Names of data files, without their extension.
const DATA: &[&str] = &["cookies", "htpasswd", "key", "keys", "password", "token", "tokens"];

/// Extensions of data files: `token.json` is a secret, and `token.rs` is not.
const DATA_ENDS: &[&str] =
    &[".cfg", ".conf", ".csv", ".ini", ".json", ".sqlite", ".toml", ".txt", ".yaml", ".yml"];

/// Beginnings of names.
const BEGINNINGS: &[&str] = &[
    ".bash_history",
    ".boto",
    ".databrickscfg",
    ".dockercfg",
    ".env",
    ".git-credentials",
    ".htpasswd",
    ".my.cnf",
    ".mylogin.cnf",
    ".netrc",
    ".npmrc",
    ".pgpass",
    ".pypirc",
    ".s3cfg",
    ".secret",
    ".terraformrc",
    ".vault",
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
    "creds",
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
    ".der",
    ".env",
    ".gpg",
    ".jks",
    ".kdb",
    ".kdbx",
    ".key",
    ".keychain",
    ".keychain-db",
    ".keystore",
    ".keytab",
    ".ovpn",
    ".p12",
    ".p8",
    ".pem",
    ".pfx",
    ".pkcs12",
    ".ppk",
    ".tfstate",
    ".tfstate.backup",
    ".tfvars",
    "_dsa",
    "_ecdsa",
    "_ed25519",
    "_history",
    "_rsa",
];

/// Ends of paths, where the name of the file alone says nothing.
const PATH_ENDS: &[&str] =
    &["/etc/shadow", "/etc/gshadow", ".m2/settings.xml", ".config/hub", ".snowsql/config"];

/// Returns whether a path, or an option with one, leads to keys, logins or other secrets, as far as names show that.
pub(crate) fn is_secret(path: &str) -> bool {
    // `-f.env` is the option `-f` with the file `.env`.
    let glued = path.strip_prefix('-').and_then(|option| option.get(1..)).unwrap_or_default();
    PATH_ENDS.iter().any(|end| path.ends_with(end))
        || path.contains("/proc/") && path.ends_with("/environ")
        || path.split(['/', '=', ':', '@', ',']).chain([glued]).any(|name| {
            let name = name.to_lowercase();
            NAMES.contains(&name.as_str())
                || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
                || PARTS.iter().any(|part| name.contains(part))
                || ENDS.iter().any(|end| name.ends_with(end))
                || DATA_ENDS.iter().filter_map(|end| name.strip_suffix(end)).any(is_data)
        })
}

/// Returns whether a name without its extension is that of a file with secrets.
fn is_data(stem: &str) -> bool {
    DATA.contains(&stem) || stem.ends_with("-key") || stem.ends_with("_key")
}

/// Returns whether the last name of a path is that of a file with secrets, which as a word of a command means little.
pub(crate) fn is_secret_file(path: &Path) -> bool {
    path.file_name().is_some_and(|name| is_data(&name.to_string_lossy().to_lowercase()))
}
