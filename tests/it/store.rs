//! The database is opened only by commands that need it. Its promises are tested in `crates/store/src/tests`.

use std::process::Command;

use serde_json::json;

use crate::support::postgres::Postgres;
use crate::support::{Home, StopHubOnDrop};

#[test]
fn prompts_never_touch_the_database() {
    let home = Home::new();
    home.write(".adjutant/prompts/greet.md", "Hello {{input}}");
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
    for (arguments, input) in [
        (&["mcp", "prompts"][..], format!("{request}\n")),
        (&["prompts", "list"], String::new()),
        (&["prompts", "lint"], String::new()),
        (&["prompts", "expand", "greet", "world"], String::new()),
        (&["connect", "prompts", "--no-start"], String::new()),
    ] {
        home.run(arguments, input);
        let found: Vec<_> = std::fs::read_dir(home.path().join(".adjutant"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.contains(".db"))
            .collect();
        assert!(found.is_empty(), "{arguments:?} made {found:?}");
    }
}

#[test]
fn an_invalid_database_url_is_rejected_without_showing_its_password() {
    let home = Home::new();
    let refused = home.run(["serve", "--database", "mysql://me:secret@host/db"], "");
    assert_eq!(refused.status.code(), Some(2));
    assert_eq!(
        refused.stderr,
        "error: `mysql` is not a database; expected sqlite:FILE or postgres://USER@HOST/NAME\n\
         hint: such as sqlite:adjutant.db or postgres://me@localhost/adjutant\n"
    );
}

/// The record of a build before the first release.
const OLD_RECORD: &str = "
db.execute('CREATE TABLE _sqlx_migrations (version BIGINT PRIMARY KEY, description TEXT NOT NULL, '
           'installed_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, success BOOLEAN NOT NULL, '
           'checksum BLOB NOT NULL, execution_time BIGINT NOT NULL)')
first = '6512a496787b7ba4e1c4dfa8f3cc0a87a6614f372056817825997f9ed094876854b9bece32e3686bc8e983b825f6d1cf'
names = ['tasks', 'popups', 'assistant', 'codex', 'feeds', 'codex handles', 'silent', 'turns alive']
for version, name in enumerate(names, 1):
    checksum = bytes.fromhex(first) if version == 1 else bytes(48)
    db.execute('INSERT INTO _sqlx_migrations VALUES (?, ?, CURRENT_TIMESTAMP, TRUE, ?, 0)', (version, name, checksum))
db.execute('CREATE TABLE tasks (id TEXT PRIMARY KEY)')
db.commit()
";

#[test]
fn a_database_from_before_the_first_release_is_rejected_with_a_hint() {
    let home = Home::new();
    home.write(".adjutant/prompts/greet.md", "Hello");
    let file = home.path().join(".adjutant/adjutant.db");
    let script = format!("import sqlite3\ndb = sqlite3.connect({file:?})\n{OLD_RECORD}");
    assert!(Command::new("python3").args(["-c", &script]).status().unwrap().success());
    let tables = || {
        let script = format!(
            "import sqlite3\nprint(sqlite3.connect({file:?}).execute('SELECT name FROM sqlite_master').fetchall())"
        );
        let listed = Command::new("python3").args(["-c", &script]).output().unwrap();
        String::from_utf8(listed.stdout).unwrap()
    };
    let before = tables();
    let rejected = home.run(["users", "list"], "");
    assert!(!rejected.status.success());
    assert!(
        rejected.stderr.contains(
            "the database was made by a build before the first release, whose tables cannot be converted; move its \
             file away and start again, or choose another database"
        ),
        "{}",
        rejected.stderr
    );
    assert!(before.contains("tasks"), "{before}");
    assert_eq!(tables(), before, "the rejected database was changed");
}

#[test]
fn a_database_that_rejects_the_password_is_named_at_the_start_in_the_status_and_by_commands() {
    let Some(server) = Postgres::start_with_tls() else { return };
    let home = Home::new();
    let database = server.tls_url("server").replacen(":of-", ":not-", 1);
    home.write(
        ".adjutant/config.toml",
        format!("database = {database:?}\n[http]\naddress = \"127.0.0.1:0\"\n"),
    );
    let _stop = StopHubOnDrop(&home);
    let started = home.run(["serve", "--background"], "");
    let status = home.run(["status"], "");
    let users = home.run(["users", "list"], "");
    let cause = "password authentication failed for user `adjutant`";
    assert!(
        started.status.success() && started.stderr.contains(&format!("database: {cause}\n")),
        "{}",
        started.stderr
    );
    assert!(status.stdout.contains(&format!("\ndatabase: {cause}\n")), "{}", status.stdout);
    assert!(users.stderr.contains(&format!("hint: the database says: {cause}\n")), "{}", users.stderr);
    for text in [started.stderr, status.stdout, users.stderr] {
        assert!(!text.contains("not-adjutant"), "the password is shown: {text}");
    }
}

#[test]
fn a_new_database_next_to_one_with_rows_says_that_nothing_is_copied() {
    let Some(server) = Postgres::start() else { return };
    let home = Home::new();
    let add = |name: &str| assert!(home.run(["users", "add", name], "").status.success());
    add("Ann");
    let settings = format!("database = {:?}\n[http]\naddress = \"127.0.0.1:0\"\n", server.url("postgres"));
    home.write(".adjutant/config.toml", settings);
    let _stop = StopHubOnDrop(&home);
    let file = home.path().join(".adjutant/adjutant.db");
    let line = format!("database: it is new, and nothing of {} is copied to it\n", file.display());
    let started = home.run(["serve", "--background"], "");
    assert!(started.stderr.contains(&line), "{}", started.stderr);
    let log = std::fs::read_to_string(home.path().join(".adjutant/logs/hub.log")).unwrap();
    assert_eq!(log.matches("nothing of this file is copied").count(), 1, "{log}");
    assert!(home.run(["stop"], "").status.success());
    add("Bob");
    let again = home.run(["serve", "--background"], "");
    assert!(again.status.success() && !again.stderr.contains("database:"), "{}", again.stderr);
}
