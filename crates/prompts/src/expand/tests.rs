//! One table per engine: file in, inputs in, text or error out.

use std::sync::Arc;

use proptest::prelude::{prop_assert, prop_assert_eq, proptest};
use serde_json::{Map, Value, json};

use super::expand;
use crate::{Catalogue, Error, Inputs, Source, parse};

const LIMIT: usize = 100_000;

fn catalogue(file: &str) -> Result<Catalogue, String> {
    let source = Source { root: "here".to_owned(), relative: "p.md".to_owned(), file: None };
    let prompt = parse::prompt("p", source, file, String::new())?;
    let mut catalogue = Catalogue::default();
    catalogue.prompts.insert("p".to_owned(), Arc::new(prompt));
    let partials = [
        ("_sign.md", "---\ndescription: x\n---\n-- {{ name }}"),
        ("team/_loop.md", "{% include 'team/_loop.md' %}"),
        ("_bad.md", "{{ a ~ a }}"),
    ];
    let partials = partials.iter().map(|(path, text)| ((*path).to_owned(), Arc::from(*text))).collect();
    catalogue.partials.insert("here".to_owned(), Arc::new(partials));
    Ok(catalogue)
}

fn with(file: &str, text: &str, named: &Value) -> Result<String, Error> {
    let catalogue = catalogue(file).unwrap();
    let named = named.as_object().cloned().unwrap_or_default();
    expand(&catalogue, "p", Inputs { text, named: Some(&named) }, LIMIT).map(|expansion| expansion.text)
}

fn plain(file: &str, text: &str) -> Result<String, Error> {
    with(file, text, &Value::Null)
}

/// The result, or the error's message.
fn shown(result: Result<String, Error>) -> String {
    result.unwrap_or_else(|error| format!("ERROR {error}"))
}

const DEPLOY: &str = "---\narguments:\n  - {name: place, required: true, enum: [test, live]}\n  - {name: count, type: integer, default: 1}\n  - {name: note}\n---\n{{place}} x{{count}} {{note}}";

#[test]
fn declared_arguments_are_filled() {
    for (text, named, expected) in [
        ("place=live count=3 note=\"a b\"", json!({}), "live x3 a b"),
        ("live", json!({}), "live x1 "),
        ("count=2 live", json!({}), "live x2 "),
        ("place=live be careful", json!({}), "live x1 be careful"),
        ("", json!({"place": "test", "count": "7"}), "test x7 "),
        ("", json!({"place": "test", "count": 7, "note": ""}), "test x7 "),
        ("with care", json!({"place": "test", "count": "7"}), "test x7 with care"),
        (
            "",
            json!({"place": "{{note}}{{count}}"}),
            "ERROR argument `place` of prompt `p` must be one of `test`, `live`, not `{{note}}{{count}}`",
        ),
        ("", json!({"place": "test", "note": "{{place}}"}), "test x1 {{place}}"),
        ("", json!({}), "ERROR argument `place` of prompt `p` is required"),
        ("", json!({"place": ""}), "ERROR argument `place` of prompt `p` is required"),
        (
            "place=live count=many",
            json!({}),
            "ERROR argument `count` of prompt `p` must be an integer, not `many`",
        ),
        (
            "",
            json!({"plaice": "live"}),
            "ERROR prompt `p` has no argument `plaice`; it takes `place`, `count`, `note`",
        ),
    ] {
        assert_eq!(shown(with(DEPLOY, text, &named)), expected, "{text} {named}");
    }
}

#[test]
fn errors_carry_the_contracts_data() {
    let Err(Error::Argument { path, validator, validator_value, .. }) = plain(DEPLOY, "") else { panic!() };
    assert_eq!((path, validator, *validator_value), (vec!["place".to_owned()], "required", Value::Null));
}

#[test]
fn free_text_is_never_lost() {
    let used = "---\narguments: [lang]\n---\n{{lang}}: {{input}}";
    let unused = "---\narguments: [lang]\n---\n{{lang}}:";
    let declared = "---\narguments: [{name: input, required: true}]\n---\nSay {{input}}";
    for (file, text, named, expected) in [
        (used, "lang=de a b", json!({}), "de: a b"),
        (used, "a b", json!({}), ": a b"),
        (used, "", json!({"lang": "de", "input": "a lang=x"}), "de: a lang=x"),
        (unused, "lang=de a b", json!({}), "de:\n\na b"),
        (unused, "a b", json!({}), "a b:"),
        (unused, "lang=de", json!({}), "de:"),
        (declared, "x", json!({}), "Say x"),
        (declared, "", json!({"input": "x"}), "Say x"),
        (declared, "", json!({}), "ERROR argument `input` of prompt `p` is required"),
        ("Body", "", json!({"input": "x"}), "Body\n\nx"),
        ("Body", "", json!({}), "Body\n\n"),
        ("Body", "lang=de", json!({}), "Body\n\nlang=de"),
        ("---\narguments: [input]\n---\nBody", "x", json!({}), "Body\n\nx"),
        ("---\narguments: [input]\nengine: args\n---\n$2 of $ARGUMENTS", "a b", json!({}), "b of a b"),
        ("Body", "", json!({"input": ["x"]}), "ERROR argument `input` of prompt `p` must be a string"),
        ("Body", "", json!({"other": "x"}), "ERROR prompt `p` has no argument `other`; it takes `input`"),
    ] {
        assert_eq!(shown(with(file, text, &named)), expected, "{file} {text} {named}");
    }
}

#[test]
fn imported_files_keep_their_placeholders() {
    for (body, text, named, expected) in [
        ("Fix $ARGUMENTS!", "the bug", json!({}), "Fix the bug!"),
        ("$1 then $2, not $10 or $00", "a \"b c\" d", json!({}), "a then b c, not $10 or $00"),
        ("$0, $1, $3", "a b c", json!({}), "a, b, $3"),
        ("$ARGUMENTS[1] of $1 in $ARGUMENTS", "a b", json!({}), "b of b in a b"),
        ("$1 for $0/mo or $0.50", "a b", json!({}), "a for $0/mo or $0.50"),
        (r"\$0 and $1", "a b", json!({}), r"\$0 and a"),
        (r"$0 \$0 \$1", "a b", json!({}), r"a $0 $1"),
        ("$1 [$2]", "a", json!({}), "a [$2]"),
        ("$$ $$1 a$", "x", json!({}), "$$ $$1 a$\n\nx"),
        (r"\$1.00 \\$1 \$ARGUMENTS \$x \$9", "a", json!({}), r"$1.00 \\a $ARGUMENTS \$x $9"),
        ("$1, $2", "'a b'c\"d \\\"e\" it\\'s", json!({}), "a bcd \"e, it's"),
        ("cost $5 of $ARGUMENTS", "a b c d e", json!({}), "cost e of a b c d e"),
        ("$TICKET in $HOME and $Path", "TICKET=AB-1", json!({}), "AB-1 in $HOME and $Path"),
        ("$TICKET: $ARGUMENTS", "TICKET=\"AB 1\" fix it", json!({}), "AB 1: fix it"),
        ("$TICKET", "", json!({"TICKET": "x"}), "x"),
        ("${input:topic} by ${input:who:your name}", "quantum who=me", json!({}), "quantum by me"),
        ("${input:topic} by ${input:who:your name}", "", json!({"topic": "t", "who": "w"}), "t by w"),
        ("${input:topic}", "", json!({}), "ERROR argument `topic` of prompt `p` is required"),
        ("${input:to pic} ${input:open", "", json!({}), "${input:to pic} ${input:open"),
        (
            "Run !`git status $ARGUMENTS` and @src/main.rs",
            "-s",
            json!({}),
            "Run !`git status -s` and @src/main.rs",
        ),
        ("No place", "text", json!({}), "No place\n\ntext"),
        ("No place", "", json!({}), "No place"),
        ("$ARGUMENTS", "$1 $ARGUMENTS ${input:x} $$", json!({}), "$1 $ARGUMENTS ${input:x} $$"),
        ("$ARGUMENTS_X é$é $", "t", json!({}), "$ARGUMENTS_X é$é $\n\nt"),
    ] {
        let file = format!("---\nengine: args\n---\n{body}");
        assert_eq!(shown(with(&file, text, &named)), expected, "{body}");
    }
    let issue = "---\nengine: args\narguments: [issue, {name: level, enum: [low, high]}]\n---\n#$1 is $2 ($ARGUMENTS)";
    for (text, named, expected) in [
        ("42 high", json!({}), "#42 is high (42 high)"),
        ("level=low 42", json!({}), "#42 is low (42)"),
        ("", json!({"issue": "7"}), "#7 is $2 ()"),
        (
            "42 huge",
            json!({}),
            "ERROR argument `level` of prompt `p` must be one of `low`, `high`, not `huge`",
        ),
    ] {
        assert_eq!(shown(with(issue, text, &named)), expected, "{text} {named}");
    }
    let named = "---\nengine: args\narguments: [issue, old-name]\n---\n";
    for (body, text, expected) in [
        ("Fix $issue on $old-name.", "42 'a b' c", "Fix 42 on a b."),
        ("Fix $issue on $old-name.", "old-name=x 42", "Fix 42 on x."),
        ("Fix $issue on $old-name.", "", "Fix  on ."),
        ("To $old-name.", "42 b", "To b."),
        ("Fix $issue: $ARGUMENTS, $1", "42 b", "Fix 42: 42 b, 42"),
        ("Fix $issue: $0, $1", "42 b", "Fix 42: 42, b"),
    ] {
        assert_eq!(shown(plain(&format!("{named}{body}"), text)), expected, "{body} {text}");
    }
    let catalogue = catalogue("---\nengine: args\n---\n${input:who:your name}").unwrap();
    let who = &catalogue.prompts["p"].arguments[0];
    assert_eq!((who.name.as_str(), who.description.as_str(), who.required), ("who", "your name", true));
}

#[test]
fn jinja_is_strict_and_bounded() {
    for (body, text, expected) in [
        ("Hello {{ name }}{% if loud %}!{% endif %}", "name=Ann", "Hello Ann"),
        ("{{ name }}{% if loud %}!{% endif %}", "name=Ann loud=yes", "Ann!"),
        ("{{ name }} {{ input }}", "name=Ann hi {{ name }} {% x %}", "Ann hi {{ name }} {% x %}"),
        ("{{ name|upper }} {{ note|default('none', true) }}", "name=Ann", "ANN none"),
        ("{% for x in ['a', 'b'] %}{{ loop.index }}{{ x }}{% endfor %}", "name=x", "1a2b"),
        ("A {{ name }}\n{% include '_sign.md' %}", "name=Ann", "A Ann\n-- Ann"),
        (
            "A\n{{ nobody }}",
            "name=x",
            "ERROR prompt `p` cannot be expanded: line 6: undefined value: `nobody` is undefined",
        ),
        (
            "{% include '_sign.md' %}{% include '../secret.md' %}",
            "name=x",
            "ERROR prompt `p` cannot be expanded: line 5: template not found: tried to include non-existing template '../secret.md'",
        ),
        (
            "{% include '/etc/passwd' %}",
            "name=x",
            "ERROR prompt `p` cannot be expanded: line 5: template not found: tried to include non-existing template '/etc/passwd'",
        ),
    ] {
        let file = format!(
            "---\nengine: jinja\narguments: [name, note, {{name: loud, type: boolean}}]\n---\n{body}"
        );
        assert_eq!(shown(plain(&file, text)), expected, "{body}");
    }
    let forever = "{% for a in name %}{% for b in name %}{% for c in name %}{{ c }}{% endfor %}{% endfor %}{% endfor %}";
    let squared = "{% set a = name|replace('x', name) %}".to_owned()
        + &"{% set a = a|replace('x', a) %}".repeat(20)
        + "{{ a }}";
    let wide = "{{ name }}".repeat(200);
    for (body, name, part) in [
        (forever, "x".repeat(1000), "fuel"),
        (&squared, "x".repeat(100), "too much text"),
        (&wide, "x".repeat(1000), "over the limit of 100000"),
        ("{% include 'team/_loop.md' %}", "x".to_owned(), "recursion"),
        ("{% include '_bad.md' %}", "x".to_owned(), "`~` is not available"),
    ] {
        let file = format!("---\nengine: jinja\narguments: [name]\n---\n{body}");
        let error = plain(&file, &name).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn jinja_refuses_what_cannot_be_bounded() {
    for (body, part) in [
        ("a\n{% set a = a ~ a %}", "line 5: `~` is not available"),
        ("{{ a|upper|shout }}", "line 4: the filter `shout` is not available here; there are upper"),
        ("{% if a is odd %}{% endif %}", "the test `odd` is not available here; there are defined"),
        ("{{ 'x' * 1000000000 }}", "`*` is not available"),
        ("{{ a + a }}", "`+` is not available"),
        ("{% set a = [a, a] %}", "constants only"),
        ("{% set a = a, a %}", "needs brackets"),
        ("{% for a in (a, a) %}{% endfor %}", "needs brackets"),
        ("{% set a %}{{ b }}{% endset %}", "`set` needs a value"),
        ("{%- macro m() %}{% endmacro %}", "`macro` is not available"),
        ("{{ {'a': b} }}", "maps are not available"),
        ("{% raw %}{{ x }}{% endraw %}", "`raw` is not available"),
        ("{{ open", "syntax error"),
        ("{% if x %}", "syntax error"),
    ] {
        let refused = catalogue(&format!("---\nengine: jinja\n---\n{body}")).map(drop).unwrap_err();
        assert!(refused.contains(part), "{body}: {refused}");
    }
    for body in [
        "{# ~ + * #}text ~ + *",
        "{% if a is not defined or (a|d(1)) is none %}{% endif %}",
        "{%- if a -%}x{%+ endif +%}",
        "{{ '~ }} +' }}",
        "{{ a[0] }}{{ a|join(', ') }}",
        "{% for k, v in x %}{% endfor %}",
        "{",
    ] {
        let refused = catalogue(&format!("---\nengine: jinja\n---\n{body}")).map(drop);
        assert_eq!(refused, Ok(()), "{body}");
    }
}

proptest! {
    #[test]
    fn no_template_panics(
        body in "(\\{\\{|\\}\\}|\\{%|%\\}|\\$|[a-z ]|if |for x in |endfor|set a=|'|\\||\\$ARGUMENTS|\\$\\{input:|\\}|é|\n){1,20}",
        engine in "literal|args|jinja",
        text in "\\PC{0,20}",
    ) {
        if let Ok(catalogue) = catalogue(&format!("---\nengine: {engine}\n---\n{body}")) {
            let _ = expand(&catalogue, "p", Inputs { text: &text, named: None }, LIMIT);
        }
    }

    #[test]
    fn put_in_text_arrives_whole(text in "(\\$[A-Z1-9]{0,9}|\\{\\{input\\}\\}|\\{%|\\PC){0,12}", engine in "literal|args|jinja") {
        let (open, close) = ("<<", ">>");
        let place = match engine.as_str() { "args" => "$ARGUMENTS", _ => "{{input}}" };
        let filled = plain(&format!("---\nengine: {engine}\n---\n{open}{place}{close}"), &text);
        prop_assert_eq!(shown(filled), format!("{open}{text}{close}"));
    }

    #[test]
    fn named_values_arrive_whole(value in "(\\{\\{[ab]\\}\\}|\\PC){1,12}") {
        let named = Map::from_iter([("a".to_owned(), Value::from(value.clone())), ("b".to_owned(), Value::from("B"))]);
        let filled = with("---\narguments: [a, b]\n---\n{{a}}|{{b}}", "", &Value::Object(named));
        prop_assert!(filled.is_ok());
        prop_assert_eq!(shown(filled), format!("{value}|B"));
    }
}
