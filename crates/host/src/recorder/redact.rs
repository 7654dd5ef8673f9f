//! The redaction of secrets in text that leaves the machine.
//!
//! Only this module and docs/recorder.md define secrets: tokens of vendors by their form ([`tokens`]), values by their
//! names ([`named`]), and passwords by the syntax around them ([`syntax`]). [`scan`] finds all in one pass, and
//! [`message_strings`] what the strings of JSON hold. A secret that looks like a word is not found. Text that passed in
//! parts is searched as its reader joins it ([`streams`]).

mod anchors;
mod announced;
mod code_words;
mod command_arguments;
mod declared_secrets;
mod decoded_text;
mod environment;
mod generated;
mod lexer;
mod message_strings;
mod named;
mod scan;
mod secret_names;
mod streams;
mod syntax;
mod tokens;
mod value_blocks;

use std::borrow::Cow;

pub use streams::{Redactor, Searched};

/// Replaces the secrets of a text.
pub fn text(text: &str) -> Cow<'_, str> {
    match message_strings::scan(text.as_bytes()) {
        secrets if secrets.is_empty() => Cow::Borrowed(text),
        secrets => String::from_utf8_lossy(&scan::replaced(text.as_bytes(), &secrets)).into_owned().into(),
    }
}

/// Replaces the secrets of a command line. A value after a flag is found, because the words are searched together.
pub fn command(words: &mut Vec<String>) {
    let clean = serde_json::to_string(words).map(|json| text(&json).into_owned());
    // The replaced text is between quotes, so the text stays JSON.
    *words = clean.and_then(|clean| serde_json::from_str(&clean)).unwrap_or_default();
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop_assert_eq, proptest};

    use super::text;

    #[track_caller]
    fn check(line: &str, clean: &str) {
        assert_eq!(text(line), clean);
    }

    #[test]
    fn members_are_secret_by_their_names() {
        check(
            r#"{"headers":{"Authorization":"Bearer a b","X-Api-Key":"k","Set-Cookie":["a","b"],"Accept":"*/*"}}"#,
            r#"{"headers":{"Authorization":"[redacted]","X-Api-Key":"[redacted]","Set-Cookie":["[redacted]","[redacted]"],"Accept":"*/*"}}"#,
        );
        check(
            r#"{"refresh_token":"r","clientSecret":"s","totalTokens":5,"_meta":{"progressToken":"p"},"token":7}"#,
            r#"{"refresh_token":"[redacted]","clientSecret":"[redacted]","totalTokens":5,"_meta":{"progressToken":"p"},"token":7}"#,
        );
        // A schema has a member for each argument; nothing in it is secret.
        check(
            r#"{"properties":{"password":{"type":"string"}}}"#,
            r#"{"properties":{"password":{"type":"string"}}}"#,
        );
    }

    #[test]
    fn a_message_with_numbers_under_the_names_of_secrets_stays_as_it_is() {
        for line in [
            r#"{"id":1,"result":{"token":1795455025,"user":"bob"}}"#,
            r#"{"max_token":12345,"outputToken":123456,"resetPassword":1795455025}"#,
            r#"{"token": 12345.5,"password":-1e9}"#,
            r#"{"text":"{\"token\":1795455025,\"a\":1}"}"#,
            r#"{"text":"it said {\"token\":1795455025,\"a\":1}"}"#,
        ] {
            check(line, line);
        }
        // A secret over several strings is replaced in each of them.
        check(
            r#"{"id":1,"args":["--token",12345678,"x7abcdef"],"b":["-----BEGIN PRIVATE KEY-----","MIIEabcdEFGH1234","-----END PRIVATE KEY-----"]}"#,
            r#"{"id":1,"args":["--token",12345678,"x7abcdef"],"b":["[redacted]","[redacted]","[redacted]"]}"#,
        );
    }

    #[test]
    fn strings_of_json_are_searched_as_their_reader_sees_them() {
        let token = format!("_{}", "aB1".repeat(12));
        check(&format!(r#"{{"t":"gh\u0070{token}"}}"#), r#"{"t":"[redacted]"}"#);
        check(
            &format!(r#"{{"t":"caf\u00e9\ngh\u0070{token}\n\u00e9"}}"#),
            r#"{"t":"caf\u00e9\n[redacted]\n\u00e9"}"#,
        );
        check(r#"{"pass\u0077ord":"hunter22"}"#, r#"{"pass\u0077ord":"[redacted]"}"#);
        check(
            r#"{"t":"{\u0022password\u0022:\u0022hunter22\u0022}"}"#,
            r#"{"t":"{\u0022password\u0022:\u0022[redacted]\u0022}"}"#,
        );
        check(
            &format!(
                r#"{{"url":"https:\/\/hooks.slack.com\/services\/T0123ABCD\/B0123ABCD\/{}"}}"#,
                "aB1".repeat(8)
            ),
            r#"{"url":"https:\/\/hooks.slack.com\/services\/[redacted]"}"#,
        );
        check(
            r"Name=x;AccountKey=abc\u002Bdef1234567890abcdef\u003D\u003D;Suffix=core",
            "Name=x;AccountKey=[redacted];Suffix=core",
        );
        check(r#"{"t":"DB_PASSWORD=Gr\u00f6\u00dfe2024 x"}"#, r#"{"t":"DB_PASSWORD=[redacted] x"}"#);
        check(&format!("a {{\"t\":\"gh\\u0070{token}\"}}"), r#"a {"t":"[redacted]"}"#);
    }

    #[test]
    fn words_near_the_signs_of_secrets_stay() {
        for line in [
            "password: the password of the database user",
            "password: string required field",
            "passed: every check ran again",
            "curl -b cookies.txt -c cookies.txt https://host.example",
            "htpasswd -c users bob",
            "rabbitmqctl add_user bob",
            "cat users | chpasswd",
            "smbclient -L host -U bob",
            "date -U %Y%m%d",
            "jdbc:oracle:thin:@//db.example:1521/tides",
            "sqlplus / as sysdba",
            "kubectl create configmap tides --from-literal=level=$LEVEL",
            "token [string]: the token of a request",
            "<Input password={password} />",
            "f\"UID={uid};PWD={pwd};\"",
            "response=ok",
            "{\"kty\":\"RSA\",\"n\":\"0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86\",\"e\":\"AQAB\"}",
            "Private-Lines: a number",
            "a\tTRUE\t/\tFALSE",
            "password: |",
            "| password: | what it is |",
            "pk_live_ begins a public key",
            "e3b0c44298fc1c149afbf4c8996fb924:27",
            "_mmk",
            "the password is required for x86_64-unknown-linux-gnu",
            "the token is a commit2 of main",
            "the key is Class2Name in lib.rs",
            "API key rotation: see docs/Keys2Rotate.md",
            "Primary Key: user_id, UserGroup2Member",
            "\"key\":\"agentMessage_12\"",
            "\"key\": \"item/agentMessage/delta\"",
            "public_key = \"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ4hZ8wq2e9c1b7d6f5a4e3d2c1b0a9f8e7d6c5b4a39281706\"",
            "host key: SHA256:4hZ8wq2e9c1b7d6f5a4e3d2c1b0a9f8e7d6c5b4a39",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
            "Idempotency-Key: 3f2b8c1e-9d4a-4b6f-8e7c-1a2b3c4d5e6f",
            "a salt of 16 bytes",
            "the mnemonic of the instruction is add",
            "net user bob /add",
            "vault login",
            "bw unlock",
            "jwt.sign(payload, process.env.SECRET)",
            "https://example.com/hooks/pre-commit2-check",
            "POST /hooks/deploy",
            "PASS  tests/it (12.3 s)",
            "a LOGIN form with Name2 and others",
            "password for user: required",
            "login to host.example:8443 with your name",
            "log in at 12:30:45 on 2026-11-27T10:20:30Z",
            "logged in as bob@host.example:/srv/tide22",
            "docker login registry.example:5000/tide22",
            "login error:E1234567 after two tries",
            "kind: SecretStore\ndata:\n  level: low22222\n",
            "kind: Secret\nmetadata:\n  name: tides\n---\nkind: ConfigMap\ndata:\n  level: low22222\n",
            "kind: ConfigMap\ndata:\n  level: low22222\napiVersion: v1\nkind: Secret\nmetadata:\n  name: tides\n",
            "{\"kind\":\"Secret\",\"metadata\":{\"data\":{\"level\":\"low22222\"}}}",
            "https://host.example/cb?code=404&state=x",
            "https://host.example/cb?code={code}&state=x",
            "gitea/gitea@0123456789abcdef0123456789abcdef01234567",
            "https://gitea.example/tides/commit/0123456789abcdef0123456789abcdef01234567",
            "gitea_commit: 0123456789abcdef0123456789abcdef01234567",
            "New value: 12345678a",
            "password for the elastic user: required",
            "expect \"$ \"\nsend \"ls -l /srv/tides2\\r\"",
            "expect \"assword:\"\nsend \"$password\\r\"",
        ] {
            check(line, line);
        }
    }

    #[test]
    fn a_token_of_gitea_is_told_from_a_commit_by_what_gitea_writes_near_it() {
        let digits = "0123456789abcdef".repeat(3)[..40].to_owned();
        for line in [
            format!("commit {digits}"),
            format!(r#"{{"sha1":"{digits}"}}"#),
            format!(r#"{{"sha1":"{digits}","token_last_eight":"00000000"}}"#),
        ] {
            check(&line, &line);
        }
        check(
            &format!(r#"{{"id":1,"sha1":"{digits}","token_last_eight":"01234567"}}"#),
            r#"{"id":1,"sha1":"[redacted]","token_last_eight":"01234567"}"#,
        );
        check(
            &format!(r#"{{"output":"{{\"token_last_eight\": \"01234567\", \"sha1\": \"{digits}\"}}"}}"#),
            r#"{"output":"{\"token_last_eight\": \"01234567\", \"sha1\": \"[redacted]\"}"}"#,
        );
    }

    #[test]
    fn of_an_environment_only_harmless_values_are_left() {
        check(
            r#"{"env":{"PATH":"/bin","STRIPE":"x"},"e":{"environment":["A=b","HOME=/h"]}}"#,
            r#"{"env":{"PATH":"/bin","STRIPE":"[redacted]"},"e":{"environment":["A=[redacted]","HOME=/h"]}}"#,
        );
        check(
            r#"{"env":[{"name":"K","value":"v"},{"name":"TERM","value":"dumb"}]}"#,
            r#"{"env":[{"name":"K","value":"[redacted]"},{"name":"TERM","value":"dumb"}]}"#,
        );
    }

    #[test]
    fn tokens_are_found_by_their_looks_in_any_text() {
        let key = format!("sk-{}", "a1".repeat(12));
        check(
            &format!("curl -H 'Authorization: Bearer {}' x", "q".repeat(20)),
            "curl -H 'Authorization: Bearer [redacted]' x",
        );
        check(&format!(r#"{{"output":"key {key}, and sk-1"}}"#), r#"{"output":"key [redacted], and sk-1"}"#);
        check(&format!("https://a.b/?k={key}&c"), "https://a.b/?k=[redacted]&c");
        check(
            "git clone https://me:hunter2@host.example/x@y",
            "git clone https://me:[redacted]@host.example/x@y",
        );
        check("export OPENAI_API_KEY=abc DEBUG=1", "export OPENAI_API_KEY=[redacted] DEBUG=1");
        check("export DB_PASSWORD='a b' x", "export DB_PASSWORD='[redacted]' x");
        let pem = "-----BEGIN EC PRIVATE KEY-----\nMIIB\n-----END EC PRIVATE KEY-----";
        check(&format!("a\n{pem}\nb"), "a\n[redacted]\nb");
        check(
            r#"data: {"a":{"arguments":"{\"api_key\":\"k\"}"}}"#,
            r#"data: {"a":{"arguments":"{\"api_key\":\"[redacted]\"}"}}"#,
        );
        check("the basic idea of a bearer token", "the basic idea of a bearer token");
    }

    #[test]
    fn a_long_secret_is_replaced_whole() {
        let long = "Ab3xYz9_".repeat(5_000);
        for (line, clean) in [
            (format!("password={long} next"), "password=[redacted] next"),
            (format!("ghp_{} next", long.replace('_', "K")), "[redacted] next"),
            (format!("Authorization: Bearer {long}\nnext"), "Authorization: Bearer [redacted]\nnext"),
        ] {
            check(&line, clean);
        }
    }

    #[test]
    fn the_time_grows_with_the_length_of_a_word_and_not_with_its_square() {
        for part in ["a", "A", "token", "token-", "token=", "key_", "sk-", "AzFu", "://", "$1$", "\\\\"] {
            let started = std::time::Instant::now();
            text(&part.repeat((64 << 10) / part.len()));
            assert!(started.elapsed().as_secs() < 10, "{part}: {:?}", started.elapsed());
        }
    }

    proptest! {
        #[test]
        fn what_is_clean_stays_as_it_is(any in any::<String>()) {
            let once = text(&any).into_owned();
            let again = text(&once).into_owned();
            prop_assert_eq!(again, once);
        }

        #[test]
        fn a_message_stays_one(line in r#"([a-z ]|ghp_[a-zA-Z0-9]{36}|password[:=] ?|\\[nrt"\\]|\\u00[0-9a-f]{2}|[a-zA-Z0-9]{30}|--token |","|":"|":123,"| -u a:b |-----BEGIN PRIVATE KEY-----){1,12}"#) {
            let line = format!(r#"{{"id":7,"{line}":""}}"#);
            if serde_json::from_str::<serde_json::Value>(&line).is_ok() {
                let clean: serde_json::Value = serde_json::from_str(&text(&line)).unwrap();
                prop_assert_eq!(clean["id"].as_i64(), Some(7));
            }
        }
    }
}
