//! The data of `serve --demo` on the console's pages.

use serde_json::{Value, json};

use super::agent_fixtures::path;
use super::browser::pictures;
use crate::support::Home;
use crate::support::chromium::{Browser, Key};
use crate::support::serving::Serving;

/// A `codex` that works on the shop of the demo, and does not end.
const CODEX: &str = r#"#!/bin/sh
[ "$1" = --version ] && { echo "codex-cli 0.169.0"; exit; }
cat >/dev/null
item() { printf '{"type":"item.%s","item":{"id":"%s","type":"%s",%s}}\n' "$1" "$2" "$3" "$4"; }
echo '{"type":"thread.started","thread_id":"0199-shop"}'
item completed r reasoning '"text":"Vouchers are applied in the basket. I look for the places that read them."'
item started c command_execution '"command":"rg -n voucher src"'
item completed c command_execution '"command":"rg -n voucher src","exit_code":0'
item completed m agent_message '"text":"Three files read a voucher: cart.ts, admin.ts and invoice.ts."'
item started d command_execution '"command":"npm test -- voucher"'
exec sleep 300
"#;

/// The pictures of the documentation: page, file name, and the looks of it.
const PICTURES: [(&str, &str, &[&str]); 13] = [
    ("/", "inbox", &["light", "dark", "phone"]),
    ("/timeline", "timeline", &["light", "phone-dark"]),
    ("/tasks", "palette", &["light", "phone-dark"]),
    ("/questions/qdem00000000000000005", "question", &["light", "phone-dark"]),
    ("/questions/qdem00000000000000007", "question-form", &["phone"]),
    ("/questions", "questions", &["dark"]),
    ("/agents/reviewer", "agent", &["dark"]),
    ("/agents", "agents", &["light"]),
    ("/tasks/dem00000000000000003", "task", &["light", "phone"]),
    ("RUNNING", "task-running", &["dark"]),
    ("/prompts", "prompts", &["light"]),
    ("/prompts/standup", "prompt", &["dark", "phone-dark"]),
    ("/calendar", "calendar", &["light", "dark", "phone"]),
];

#[test]
fn every_task_of_the_demo_has_its_log_and_no_page_names_another_folder() {
    let home = Home::new();
    let hub = Serving::demo_hub(&home);
    let list = hub.page("/tasks");
    let tasks: Vec<&str> = list.split('"').filter(|part| part.starts_with("/tasks/dem")).collect();
    assert_eq!(tasks.len(), 5, "{list}");
    for task in tasks {
        let page = hub.page(task);
        assert!(page.contains("<li class=\"start\" data-seq=\"1\">"), "{task} has a log: {page}");
    }
    let checked = hub.page("/tasks/dem00000000000000003");
    assert!(checked.contains("<li class=\"done\" data-seq=\"12\">"), "{checked}");
    assert!(hub.page("/questions").contains("the oldest first"));
    let activity = hub.page("/timeline");
    assert!(activity.contains("was given a task") && !activity.contains("saved a user"), "{activity}");
    // The folder of the example is in the home, so no text names a folder that nobody has.
    let inbox = hub.page("/").replace("&#x2f;", "/");
    assert!(inbox.contains("corner-shop") && !inbox.contains("~/code/"), "{inbox}");
}

#[test]
fn a_list_of_agents_without_any_runner_says_so_once() {
    let home = Home::new();
    let mut command = home.adjutant([""; 0]);
    command.env("PATH", home.path());
    let hub = Serving::demo_hub_of(command, &home);
    let list = hub.page("/agents");
    assert_eq!(list.matches("No runner on this machine").count(), 1, "{list}");
    assert!(!list.contains("no runner</span>"), "{list}");
    let agent = hub.page("/agents/reviewer");
    assert!(agent.contains("<dt>Runner</dt><dd class=\"bad\">none is installed</dd>"), "{agent}");
    assert!(agent.contains("id=\"delegate-to\" aria-describedby=\"no-runner\" disabled>"), "{agent}");
    let missing = "<dt>Not installed</dt><dd>codex, copilot, claude, gemini, opencode</dd>";
    assert!(agent.contains(missing), "{agent}");
}

#[test]
fn lists_and_pages_of_the_demo_use_the_same_words_and_numbers() {
    let home = Home::new();
    let hub = Serving::demo_hub(&home);
    let none = hub.page("/tasks?q=zzzzz");
    assert!(none.contains("0 tasks for “zzzzz”</p>"), "{none}");
    assert!(hub.page("/tasks").contains("5 tasks, newest first</p>"));
    assert!(hub.page("/tasks").contains("<span class=\"state refuted\">1 of 2 checks failed</span>"));
    assert!(
        hub.page("/tasks/dem00000000000000004")
            .contains("<span class=\"state refuted\">1 of 2 checks failed")
    );
    let history = hub.page("/history");
    for expected in [">Expired</a>", ">Cancelled</a>", ">Client disconnected</a>", ">declined</span>"] {
        assert!(history.contains(expected), "no {expected}: {history}");
    }
    assert!(hub.page("/codex").contains("Codex 0.169.0"));
    let thread = hub.page("/codex/0199dem0-7a41-7c52-9b0e-c0de5e551011");
    assert!(thread.contains("Codex 0.169.0 <") && thread.contains("48,211 tokens"), "{thread}");
    let thread = thread.replace("&#x2f;", "/");
    for shown in [
        "<span class=\"file\">packages/money/package.json <i class=\"plus\">+4</i>",
        "<span class=\"added\" data-new=\"1\"><i>+</i>{",
        "placeholder=\"Reply, which resumes the thread\"",
        "<details id=\"more-i3\"><summary>",
        "<details id=\"more-i6\" open><summary>",
        "<span class=\"state failed\">exit 1</span>",
    ] {
        assert!(thread.contains(shown), "no {shown}: {thread}");
    }
    assert!(!thread.contains(">closed<") && !thread.contains(">failed<"), "{thread}");
    let settings = hub.page("/settings/notifications");
    assert!(settings.contains("value=\"question, mail, call\""), "{settings}");
    assert!(settings.contains("mail, call, question, desktop, ntfy, webhook."), "{settings}");
}

#[test]
fn the_run_reports_of_the_demo_agree_with_their_patches_and_agents() {
    let home = Home::new();
    let _hub = Serving::demo_hub(&home);
    let mut usages = Vec::new();
    for number in 1..=5 {
        let shown = home.run(["tasks", "show", &format!("dem0000000000000000{number}"), "--json"], "");
        let task: Value = serde_json::from_str(&shown.stdout).unwrap_or_else(|_| panic!("{shown}"));
        let report = &task["outcome"]["run_report"];
        let permission = if task["agent"] == "reviewer" { "read-only" } else { "workspace-write" };
        assert_eq!(report["permission"], permission, "{task}");
        usages.push((report["usage"].to_string(), report["peak_rss_bytes"].as_u64()));
        let repository = &report["repository"];
        let patch = repository["patch"].as_str().unwrap_or_default();
        let files: Vec<Value> = patch.split("diff --git ").skip(1).map(patched_file).collect();
        assert_eq!(json!(files), *repository.get("files").unwrap_or(&json!([])), "{patch}");
    }
    usages.sort();
    usages.dedup();
    assert_eq!(usages.len(), 5, "each run used something else: {usages:?}");
}

/// Returns one file of a patch as a run report lists it, after a check of the lengths of its hunks.
fn patched_file(change: &str) -> Value {
    let path = change.lines().find_map(|line| line.strip_prefix("+++ b/")).unwrap();
    let (mut insertions, mut deletions) = (0, 0);
    for hunk in change.split("\n@@ -").skip(1) {
        let (head, body) = hunk.split_once('\n').unwrap();
        let count = |mark: char| body.lines().filter(|line| line.starts_with(mark)).count();
        let (plus, minus, same) = (count('+'), count('-'), count(' '));
        let length = |side: &str| side.split_once(',').map_or(1, |(_, length)| length.parse().unwrap());
        let (old, new) = head.split_once(" @@").unwrap().0.split_once(" +").unwrap();
        assert_eq!((length(old), length(new)), (same + minus, same + plus), "{hunk}");
        (insertions, deletions) = (insertions + plus, deletions + minus);
    }
    json!({"path": path, "insertions": insertions, "deletions": deletions})
}

#[test]
fn a_run_report_shows_each_time_once() {
    let home = Home::new();
    let hub = Serving::demo_hub(&home);
    let at_once = hub.page("/tasks/dem00000000000000005");
    assert!(!at_once.contains("<dt>Asked</dt>") && at_once.contains("<dt>Started</dt>"), "{at_once}");
    assert_eq!(at_once.matches("42 s").count(), 1, "{at_once}");
    assert!(hub.page("/tasks/dem00000000000000003").contains("<dt>Asked</dt>"));
}

#[test]
fn a_short_change_is_shown_whole_on_a_phone() {
    let Some(mut browser) = Browser::start() else { return };
    let home = Home::new();
    let hub = Serving::demo_hub(&home);
    browser.set_window(390, 844, false);
    for page in ["/", "/questions/qdem00000000000000005", "/tasks/dem00000000000000004"] {
        browser.open(&hub.url(page));
        let hidden = "[...document.querySelectorAll('.sheet.diff')].map((diff) => diff.scrollHeight - diff.clientHeight)";
        let hidden = browser.evaluate(hidden);
        assert!(
            hidden.as_array().is_some_and(|all| !all.is_empty() && all.iter().all(|one| *one == json!(0))),
            "{page}: {hidden}"
        );
    }
    browser.assert_no_page_errors();
}

#[test]
fn the_reply_to_a_session_stays_above_the_tabs_of_a_phone() {
    let Some(mut browser) = Browser::start() else { return };
    let home = Home::new();
    let hub = Serving::demo_hub(&home);
    let list = hub.page("/codex");
    let thread = list.split('"').find(|part| part.starts_with("/codex/")).expect("a thread");
    browser.set_window(390, 844, false);
    browser.open(&hub.url(thread));
    browser.evaluate("scrollTo(0, 100)");
    let free = browser.evaluate(
        "document.querySelector('.top nav ul').getBoundingClientRect().top - document.querySelector('.composer').getBoundingClientRect().bottom",
    );
    assert!(free.as_f64().is_some_and(|free| free >= 0.0), "{free}");
    // More is marked on a page of its sections. It opens them, and what is beside them closes them.
    let mark = "href=\"#more-sections\" aria-current=\"true\"";
    assert!(hub.page("/settings").contains(mark) && !list.contains(mark));
    let open = "document.getElementById('more-sections').checkVisibility()";
    browser.click(".open-others a");
    assert_eq!(browser.evaluate(open), json!(true));
    browser.click(".close");
    assert_eq!(browser.evaluate(open), json!(false));
    assert_eq!(browser.evaluate("Math.round(scrollY)"), json!(100), "the page stays where it was");
    browser.assert_no_page_errors();
}

#[test]
fn what_a_finger_touches_is_44_pixels_high() {
    let Some(mut browser) = Browser::start() else { return };
    let home = Home::new();
    let hub = Serving::demo_hub(&home);
    browser.set_window(390, 844, false);
    for path in
        ["/", "/questions", "/history", "/questions/approvals", "/calendar", "/codex", "/settings/access"]
    {
        browser.open(&hub.url(path));
        let small = browser.evaluate(
            "[...document.querySelectorAll('.find, main :is(button, summary, select, textarea, input:not([type=hidden], [type=radio], [type=checkbox]), #results > p > a, .export > a, .standing > a)')]
                .filter((one) => one.checkVisibility() && one.offsetWidth > 4 && one.getBoundingClientRect().height < 43.5)
                .map((one) => one.outerHTML.slice(0, 120))",
        );
        assert_eq!(small, json!([]), "{path}");
    }
    browser.assert_no_page_errors();
}

#[test]
fn the_pictures_of_the_documentation_show_the_shop_of_the_demo() {
    let Some(mut browser) = Browser::start() else { return };
    let home = Home::new();
    home.write_program("bin/codex", CODEX);
    let mut command = home.adjutant([""; 0]);
    command.env("PATH", path(&home));
    let hub = Serving::demo_hub_of(command, &home);
    let task = ["delegate", "reviewer", "Review the voucher rules: who may combine two vouchers?"];
    let shop = ["--workdir", ".adjutant/corner-shop", "--background", "--json"];
    let delegated = home.run([&task[..], &shop].concat(), "");
    let delegated: Value = serde_json::from_str(&delegated.stdout).expect(&delegated.stderr);
    let running = format!("/tasks/{}", delegated["task_id"].as_str().unwrap());
    browser.open(&hub.url(&running));
    browser.wait_until("document.getElementById('last-event')?.innerText.includes('npm test')");
    for (page, name, looks) in PICTURES {
        for look in looks {
            let is_phone = look.starts_with("phone");
            browser.set_window(if is_phone { 390 } else { 1400 }, 900, look.ends_with("dark"));
            browser.open(&hub.url(if page == "RUNNING" { &running } else { page }));
            match name {
                "palette" => {
                    browser.press(Key::Palette);
                    browser.type_text("vou");
                    browser.wait_until("document.querySelector('#palette-found mark')");
                }
                "prompt" => browser.wait_until("document.getElementById('preview-body')"),
                "calendar" => browser.wait_until("document.querySelector('.agenda')"),
                _ => {}
            }
            let text = browser.evaluate("document.body.innerText");
            let text = text.as_str().unwrap();
            for foreign in ["/tmp/", "stub", "tide", "<b>"] {
                assert!(!text.contains(foreign), "{page} shows `{foreign}`: {text}");
            }
            if let Some(folder) = pictures() {
                browser.screenshot(&folder.join(format!("{name}-{look}.png")));
            }
        }
    }
    browser.assert_no_page_errors();
}
