use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

const PATH: [&str; 2] = ["servers", "desk"];

#[track_caller]
fn check(before: &str, after: &str) {
    let set = set(before, &PATH, &json!({"command": "x", "args": ["y"]})).unwrap();
    assert_eq!(set, after);
    assert_eq!(get(&set, &["servers", "desk", "args"]).unwrap(), Some(json!(["y"])));
}

#[test]
fn an_item_is_put_as_the_others_are() {
    let entry = "\"desk\": {\n      \"command\": \"x\",\n      \"args\": [\"y\"]\n    }";
    check("{}", &format!("{{\n  \"servers\": {{\n    {entry}\n  }}\n}}"));
    check("", &format!("{{\n  \"servers\": {{\n    {entry}\n  }}\n}}\n"));
    check("// mine\n", &format!("// mine\n{{\n  \"servers\": {{\n    {entry}\n  }}\n}}\n"));
    check(
        "{\n  \"servers\": {\n    \"a\": 1 // one\n  }\n}\n",
        &format!("{{\n  \"servers\": {{\n    \"a\": 1, // one\n    {entry}\n  }}\n}}\n"),
    );
    // The comment does not end where it begins.
    check(
        "{\n  \"servers\": {\n    \"a\": 1 /*/ one */\n  }\n}\n",
        &format!("{{\n  \"servers\": {{\n    \"a\": 1, /*/ one */\n    {entry}\n  }}\n}}\n"),
    );
    check(
        "{\n  \"servers\": {\n    \"a\": 1, // one\n    // nothing else\n  },\n}\n",
        &format!(
            "{{\n  \"servers\": {{\n    \"a\": 1, // one\n    {entry},\n    // nothing else\n  }},\n}}\n"
        ),
    );
    check(
        "{\n  \"servers\": {\n    // none yet\n  }\n}",
        &format!("{{\n  \"servers\": {{\n    // none yet\n    {entry}\n  }}\n}}"),
    );
    check(r#"{"servers":{}}"#, r#"{"servers":{"desk":{"command":"x","args":["y"]}}}"#);
    check(r#"{"a": [1, 2]}"#, r#"{"a": [1, 2], "servers": {"desk": {"command": "x", "args": ["y"]}}}"#);
    check(
        "{\r\n\t\"a\": 1\r\n}\r\n",
        "{\r\n\t\"a\": 1,\r\n\t\"servers\": {\r\n\t\t\"desk\": {\r\n\t\t\t\"command\": \"x\",\r\n\t\t\t\"args\": [\"y\"]\r\n\t\t}\r\n\t}\r\n}\r\n",
    );
}

#[test]
fn a_value_is_replaced_where_it_stands() {
    let text = "{\"servers\": {\n  \"desk\": /* old */ {\"command\": 1}, // ours\n  \"b\": 2}}";
    let new = set(text, &["servers", "desk", "command"], &json!("x")).unwrap();
    assert_eq!(new, text.replace('1', "\"x\""));
}

#[test]
fn half_of_a_surrogate_pair_stays_as_it_is() {
    for half in [
        r"\ud83d",
        r"\uDE00",
        r"\ud83d\ud83d\ude00",
        r"\ud83dx",
        r"\\\ud83d",
        r"\ud83d\ude00",
        r"\\ud83d",
        r"\ud8",
    ] {
        let text = format!(r#"{{"a": "{half}", "b": "\\"}}"#);
        if half == r"\ud8" {
            assert!(matches!(get(&text, &["b"]), Err(SyntaxError::Syntax { .. })), "{half}");
            continue;
        }
        assert_eq!(get(&text, &["b"]).unwrap(), Some(json!("\\")), "{half}");
        let with = set(&text, &["servers"], &json!(1)).unwrap();
        assert_eq!(with, format!("{}, \"servers\": 1}}", &text[..text.len() - 1]));
        assert_eq!(remove(&with, &["servers"]).unwrap(), text);
    }
}

#[test]
fn removing_leaves_what_others_wrote() {
    for (before, after) in [
        ("{\"servers\": {\"desk\": 1}}", "{}"),
        ("{\"a\": 1, \"servers\": {\"desk\": 1}}", "{\"a\": 1}"),
        ("{\"servers\": {\"desk\": 1, \"b\": 2}}", "{\"servers\": {\"b\": 2}}"),
        ("{\"servers\": {\"b\": 2, \"desk\": 1}}", "{\"servers\": {\"b\": 2}}"),
        ("{\"servers\": {\"b\": 2, // c\n\"desk\": 1}}", "{\"servers\": {\"b\": 2 // c\n}}"),
        ("{\"servers\": { // mine\n\"desk\": 1\n}}", "{\"servers\": { // mine\n}}"),
        (
            "{\n  \"servers\": {\n    // mine\n    \"desk\": 1, // its\n    \"b\": 2,\n  }\n}",
            "{\n  \"servers\": {\n    // mine\n    \"b\": 2,\n  }\n}",
        ),
        ("{\"servers\": {\"desk\": 1 /* a */ , /* b */ \"b\": 2}}", "{\"servers\": {\"b\": 2}}"),
    ] {
        assert_eq!(remove(before, &PATH).unwrap(), after, "{before}");
    }
}

#[test]
fn elements_come_and_go() {
    let text = "{\n  \"hooks\": {\n    \"a\": [{\"x\": 1}]\n  }\n}\n";
    let more = set(text, &["hooks", "a", "9"], &json!({"y": 2})).unwrap();
    assert_eq!(get(&more, &["hooks", "a"]).unwrap(), Some(json!([{"x": 1}, {"y": 2}])));
    assert_eq!(remove(&more, &["hooks", "a", "1"]).unwrap(), text);
    let other = set(text, &["hooks", "b", "0"], &json!({"y": 2})).unwrap();
    assert_eq!(remove(&other, &["hooks", "b", "0"]).unwrap(), text);
}

#[test]
fn what_cannot_be_changed_is_told_with_its_line() {
    let told = |text: &str| set(text, &PATH, &Value::Null).unwrap_err().to_string();
    assert_eq!(
        told("{\n  \"a\": 1,\n  \"b\" 2\n}"),
        "line 3, column 7: Expected colon after the string or word in object property"
    );
    assert_eq!(told("{\n\"servers\": []}"), "line 2: `servers` is not an object");
    let hook = set("{\n\"hooks\": {\"a\": {}}}", &["hooks", "a", "0"], &Value::Null).unwrap_err();
    assert_eq!(hook.to_string(), "line 2: `hooks.a` is not a list");
    assert_eq!(told("[]"), "line 1: the content of the file is not an object");
    assert_eq!(told("{\"servers\": {},\n\"servers\": {}}"), "line 2: `servers` is a duplicate");
}

/// A text with members, comments and white space in any place.
fn texts() -> impl Strategy<Value = String> {
    let gap =
        prop::sample::select(vec!["", " ", "\n", "\n  ", "\r\n\t", " /* a */ ", " // b\n", "\n// c, }\n\n"]);
    let value =
        prop::sample::select(vec!["1", "\"s // x\"", "[]", "{}", "[1, 2]", "{\"k\": [\n1]}", "{ /* n */ }"]);
    let member = (gap.clone(), gap.clone(), value, gap.clone(), gap.clone());
    (prop::collection::vec(member, 0..4), gap.clone(), prop::bool::ANY).prop_map(|(members, end, comma)| {
        let count = members.len();
        let members: Vec<String> = members
            .into_iter()
            .enumerate()
            .map(|(n, (a, b, value, c, d))| {
                let closing = if n + 1 < count || comma { "," } else { "" };
                format!("{a}\"m{n}\"{b}:{c}{value}{d}{closing}")
            })
            .collect();
        format!("{{{}{end}}}", members.concat())
    })
}

proptest! {
    #[test]
    fn what_was_put_in_comes_out_and_nothing_else(text in texts()) {
        let before = get(&text, &[]).unwrap();
        let entry = json!({"command": "x", "args": ["y", "z"]});
        let with = set(&text, &PATH, &entry).unwrap();
        prop_assert_eq!(get(&with, &PATH).unwrap(), Some(entry));
        let without = remove(&with, &PATH).unwrap();
        prop_assert_eq!(get(&without, &[]).unwrap(), before.clone());
        // An object that held nothing does not keep its white space; anything else keeps every byte.
        if before != Some(json!({})) {
            prop_assert_eq!(&without, &text);
        }
    }

    #[test]
    fn any_member_can_be_removed(text in texts(), number in 0..4_usize) {
        let name = format!("m{number}");
        let mut before = get(&text, &[]).unwrap().unwrap();
        let without = remove(&text, &[&name]).unwrap();
        before.as_object_mut().unwrap().shift_remove(&name);
        prop_assert_eq!(get(&without, &[]).unwrap().unwrap(), before);
    }
}

#[test]
fn mutated_documents_are_edited_or_refused() {
    let corpus = [
        "{\n  // mine\n  \"servers\": {\n    \"a\": {\"command\": \"x\", \"args\": [1, 2.5e3, null]}, /* b */\n  },\n}\n",
        "\u{feff}{\"servers\":{\"desk\":{\"command\":\"\\ud83c\\udf89\"},'b':true},\"z\":[[],{}]}",
        "{\r\n\t\"servers\": {}\r\n}\r\n",
    ];
    adjutant_base::fuzz::run(&corpus, |text| {
        let _ = get(text, &PATH);
        let _ = remove(text, &PATH);
        if let Ok(after) = set(text, &PATH, &json!({"command": "x"})) {
            assert_eq!(get(&after, &PATH).unwrap(), Some(json!({"command": "x"})), "{after}");
        }
    });
}
