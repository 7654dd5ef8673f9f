//! The words that say where a secret may be, and the check at each.

use super::tokens::Token;

/// The check at an anchor.
#[derive(Clone, Copy, Debug)]
pub(super) enum Check {
    Token(&'static Token),
    /// The end of a name that may be secret.
    Name,
    /// A member that holds an environment.
    Environment,
    PrivateKey,
    /// `://`.
    Authority,
    /// `Basic` and `Bearer`.
    Scheme,
    /// `-u name:password`.
    User,
    /// A command with a password after a flag, which is in the table.
    Command(&'static str),
    /// A command with a password after a name.
    Second,
    /// A command with a password as the argument of this number, from 0.
    Argument(usize),
    Htpasswd,
    Chpasswd,
    /// A command that reads the secret that `echo` prints.
    Piped,
    /// `--from-literal=NAME=VALUE`.
    Literal,
    /// A command that sets variables: `NAME=VALUE …`.
    Settings,
    /// A function of which an argument is a password.
    Call(usize),
    /// `LOGIN name password` of IMAP (RFC 9051).
    Login,
    /// `login name password …` of a netrc file.
    Netrc,
    /// A path that is secret by itself.
    Webhook,
    /// The beginning of a path that may be.
    Hook,
    /// The words from which a wallet is made (BIP 39).
    Seed,
    /// The hash of a password, in the form of crypt(3).
    Hash,
    /// `host:5432:database:user:password` of a pgpass file.
    Pgpass,
    /// `IDENTIFIED BY '…'`.
    Sql,
    /// What follows the next equals sign: `SET PASSWORD FOR 'name' = '…'`, a cookie of a session.
    Assigned,
    /// `name/password@database`.
    Oracle,
    /// A line of a cookie jar.
    Cookie,
    /// `Authorization: Digest … response="…"`.
    Digest,
    WebKey,
    Putty,
    /// `login … name:password`.
    Pair,
    /// The value of `?code=` in the address of an OAuth callback.
    Code,
    /// The `kind` of a manifest of Kubernetes with values that are all secret.
    Manifest,
    /// An object of which `sensitive` says that its value is secret.
    Sensitive,
    /// `New value: …` after the reset of a password.
    Reset,
    /// `send "…"` of a script that answers a prompt for a password.
    Sent,
}

/// The words at which a secret may begin or end, by their checks.
pub(super) const ANCHORS: &[(Check, &[&str])] = &[
    (
        Check::Name,
        &[
            "password",
            "passwd",
            "passphrase",
            "passcode",
            "pwd",
            "pass",
            "pw",
            "secret",
            "token",
            "key",
            "keyid",
            "key_id",
            "key-id",
            "cookie",
            "authorization",
            "auth",
            "credential",
            "credentials",
            "creds",
            "bearer",
            "jwt",
            "pat",
            "sig",
            "signature",
            "dsn",
            "psk",
            "salt",
            "secretid",
            "secret_id",
            "secret-id",
            "secret id",
            "secretstring",
            "secret-string",
            "jsessionid",
            "phpsessid",
            "laravel_session",
            "net_sessionid",
            "connect.sid",
            "samlresponse",
            "recoverycode",
            "recovery_code",
            "backupcode",
            "backup_code",
        ],
    ),
    (Check::Environment, &["env\"", "env\\", "environment\"", "environment\\", "environmentvariables"]),
    (Check::PrivateKey, &["--begin ", "-- begin "]),
    (Check::Authority, &["://", ":\\/\\/"]),
    (Check::Scheme, &["bearer ", "basic ", "ssws "]),
    (Check::User, &[" -u", "\"-u", "'-u", "--user", "--proxy-user", "http -a", "https -a"]),
    // The manual of each command names the flag.
    (
        Check::Command("-p"),
        &[
            "sshpass",
            "mysql",
            "mariadb",
            "docker login",
            "podman login",
            "helm registry login",
            "mongosh",
            "mongodump",
            "mongorestore",
            "az login",
            "oc login",
            "twine upload",
            "useradd",
            "usermod",
            "cqlsh",
            "nuget add source",
        ],
    ),
    (Check::Command("-P"), &["sqlcmd", "bcp ", "ipmitool", "mosquitto_pub", "mosquitto_sub"]),
    (Check::Command("-u"), &["lftp"]),
    (Check::Command("-k"), &["openssl enc", "nuget push"]),
    (Check::Command("--value"), &["keyvault secret set", "ssm put-parameter"]),
    (Check::Command("-b "), &["gh secret set"]),
    (Check::Command("/p:"), &["xfreerdp"]),
    (Check::Command("-N"), &["ssh-keygen"]),
    (Check::Command("-P"), &["ssh-keygen"]),
    (Check::Command("-A"), &["snmpget", "snmpwalk", "snmpset"]),
    (Check::Command("-X"), &["snmpget", "snmpwalk", "snmpset"]),
    (Check::Command("value="), &["vault kv put"]),
    (Check::Command("-a"), &["redis-cli"]),
    (Check::Command("pass:"), &["-passin", "-passout", "-pass "]),
    (Check::Command("-P"), &["zip"]),
    (Check::Command("-p"), &["7z a", "7z x"]),
    (Check::Command("--body"), &["gh secret set"]),
    (
        Check::Command("-w"),
        &[
            "ldapsearch",
            "ldapmodify",
            "ldapadd",
            "ldapdelete",
            "ldappasswd",
            "ldapwhoami",
            "add-generic-password",
            "add-internet-password",
        ],
    ),
    (Check::Command("<<<"), &["kinit", "--passphrase-fd", "--password-stdin", "--with-token", "sudo -s"]),
    (Check::Command("-b"), &["curl"]),
    (Check::Command("-t"), &["tea login", "tea logins"]),
    (Check::Second, &["rabbitmqctl add_user", "rabbitmqctl change_password"]),
    (
        Check::Argument(0),
        &[
            "bw unlock",
            "vault login",
            "b2 account authorize",
            "b2 authorize-account",
            "ansible-vault encrypt_string",
            "auth default",
            "mkpasswd",
            // cisco.com: passwords in a running configuration, with the number of their encoding
            "snmp-server community",
            "password 0",
            "password 7",
            "secret 0",
            "key 7",
        ],
    ),
    (
        Check::Argument(1),
        &[
            "netlify env:set",
            "config set --secret",
            "user-secrets set",
            "wpa_passphrase",
            "net user",
            "openssl passwd",
            "b2 account authorize",
            "b2 authorize-account",
        ],
    ),
    (Check::Argument(2), &["config http-basic.", "net use", "mc alias set", "mkpasswd"]),
    (Check::Argument(3), &["mc alias set"]),
    (Check::Htpasswd, &["htpasswd"]),
    (Check::Chpasswd, &["chpasswd"]),
    (Check::Piped, &["--password-stdin", "--with-token", "sudo -s", "passwd --stdin", "cryptsetup", "su - "]),
    (Check::Literal, &["--from-literal"]),
    (
        Check::Settings,
        &["fly secrets set", "flyctl secrets set", "supabase secrets set", "heroku config:set"],
    ),
    (Check::Call(0), &["convertto-securestring"]),
    (
        Check::Call(1),
        &[
            "networkcredential(",
            "basicauth(",
            "basic_auth(",
            "auth=(",
            "auth = (",
            "jwt.encode(",
            "jwt.sign(",
            "twilio(",
            "twilio.rest.client(",
            "wifi.begin(",
        ],
    ),
    (Check::Login, &[" login "]),
    (Check::Netrc, &["machine ", "machine\\n", "machine\n", "login "]),
    (
        Check::Webhook,
        &[
            "hooks.slack.com/services/",
            "hooks.slack.com/workflows/",
            "hooks.slack.com/triggers/",
            "/api/webhooks/",
            ".webhook.office.com/webhookb2/",
            "hooks.zapier.com/hooks/catch/",
            "/bot/webhook/",
            // docs.metamask.io/services, www.alchemy.com/docs, ifttt.com/maker_webhooks, developer.pagerduty.com
            ".infura.io/v3/",
            ".alchemy.com/v2/",
            ".quiknode.pro/",
            "/with/key/",
            "hook.eu1.make.com/",
            "hook.eu2.make.com/",
            "hook.us1.make.com/",
            "hook.us2.make.com/",
            "events.pagerduty.com/integration/",
            "/receiver/v1/http/",
        ],
    ),
    (Check::Hook, &["/hooks/"]),
    (
        Check::Seed,
        &["mnemonic", "seed phrase", "seed_phrase", "seedphrase", "recovery phrase", "recovery_phrase"],
    ),
    // man 5 crypt
    (
        Check::Hash,
        &[
            "$1$",
            "$2a$",
            "$2b$",
            "$2y$",
            "$5$",
            "$6$",
            "$7$",
            "$y$",
            "$apr1$",
            "$argon2",
            "$pbkdf2",
            "$scrypt$",
            "{ssha}",
            "{sha}",
            "scram-sha-",
            "pbkdf2_sha",
        ],
    ),
    (Check::Pgpass, &[":5432:", ":5433:", ":6432:"]),
    (Check::Sql, &["identified by ", "identified with "]),
    (Check::Assigned, &["set password for ", "_session=", "wordpress_logged_in_", "wordpress_sec_"]),
    (Check::Oracle, &["jdbc:oracle:thin:", "jdbc:oracle:oci:", "sqlplus ", "sqlplus -s "]),
    // curl.se/docs/http-cookies.html
    (Check::Cookie, &["\ttrue\t/", "\tfalse\t/", "\\ttrue\\t/", "\\tfalse\\t/"]),
    (Check::Digest, &["response="]),
    (Check::WebKey, &["\"kty\"", "\"kty\\\""]),
    (Check::Putty, &["private-lines:"]),
    (
        Check::Pair,
        &[
            "login ",
            "login: ",
            "log in ",
            "logged in ",
            "sign in ",
            "credentials ",
            "credentials: ",
            "basicauth: ",
            "basic_auth: ",
            "basic auth: ",
            "basic-auth: ",
        ],
    ),
    // RFC 6749, 4.1.2
    (Check::Code, &["?code=", "&code=", "&amp;code=", "?code%3d", "&code%3d", "%3fcode%3d", "%26code%3d"]),
    // kubernetes.io/docs/concepts/configuration/secret
    (
        Check::Manifest,
        &[
            "kind: secret",
            "kind\":\"secret\"",
            "kind\": \"secret\"",
            "kind\\\":\\\"secret\\\"",
            "kind\\\": \\\"secret\\\"",
        ],
    ),
    // elastic.co/docs/reference/elasticsearch/command-line-tools/reset-password, …/setup-passwords
    (Check::Reset, &["new value: ", "password for the elastic ", "enter passphrase for "]),
    // developer.hashicorp.com/terraform/cli/commands/output
    (
        Check::Sensitive,
        &["sensitive\": true", "sensitive\":true", "sensitive\\\": true", "sensitive\\\":true"],
    ),
    (Check::Sent, &["send \"", "send -- \"", "send \\\"", "send -- \\\"", "sendline(", ".send("]),
];
