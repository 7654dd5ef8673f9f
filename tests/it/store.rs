//! The database is opened by what needs it, and by nothing else. What it promises is told in `src/store/testing`.

use serde_json::json;

use crate::support::Home;

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
fn a_place_that_is_none_is_refused_without_its_password() {
    let home = Home::new();
    let refused = home.run(["serve", "--database", "mysql://me:secret@host/db"], "");
    assert_eq!(refused.status.code(), Some(2));
    assert_eq!(
        refused.stderr,
        "error: `mysql` is no database; expected sqlite:FILE or postgres://USER@HOST/NAME\n\
         hint: such as sqlite:adjutant.db or postgres://me@localhost/adjutant\n"
    );
}
