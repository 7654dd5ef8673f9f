//! One console session with the real Codex of three versions, driven in real Chromium: a thread begins, a command and a
//! patch are approved, one turn is steered and one is interrupted, all on the thread's page.

use std::time::Instant;

use serde_json::{Value, json};

use super::versions::install_package;
use super::{RunningCommand, codex, faults, install, output_lines};
use crate::support::chromium::Browser;
use crate::support::model::{Model, Script, Turn};
use crate::support::real_clients::{RUN_DEADLINE, codex_config, is_excluded};
use crate::support::serving::Serving;
use crate::support::{DEADLINE, Home};
use crate::web::browser::{axe, pictures};

pub(super) const SORT_PRICES: &str = "sort -k2 -o prices.txt prices.txt && cat prices.txt";
const PATCH: &str = "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: prices.txt\n@@\n-plum  25\n+plum  24\n pear  40\n*** End Patch\nEOF";
const WAIT_FOR_GO: &str = "while ! test -e go; do sleep 0.1; done";

/// The model's part of this conversation.
pub(super) fn conversation() -> Script {
    let turn = |on, does, says| Turn { on, does, says };
    Script::Turns(vec![
        turn(
            "price list",
            Script::Escalated(SORT_PRICES.to_owned()),
            "The list is in order now: the *plum* comes first.",
        ),
        turn("one cent", Script::Shell(PATCH.to_owned()), "Set the plum to 24 cents."),
        turn("be slow", Script::Shell(WAIT_FOR_GO.to_owned()), "Nothing more is to be done."),
        turn("for ever", Script::Silence, ""),
    ])
}

/// The differences between the versions.
struct Version {
    package: &'static str,
    backend: &'static str,
    /// Accepts text during a running turn.
    steers: bool,
    /// The name of its screenshot.
    picture: Option<&'static str>,
}

struct Session {
    home: Home,
    hub: Serving,
    model: Model,
    browser: Browser,
}

impl Session {
    fn start(version: &Version) -> Option<Self> {
        if is_excluded("npm") {
            return None;
        }
        let mut browser = Browser::start()?;
        browser.set_window(1400, 900, false);
        let home = Home::new();
        install_package(&home, version.package, version.backend);
        home.write("corner-shop/prices.txt", "pear  40\nplum  25\n");
        let model = Model::start(conversation());
        home.write(".codex/config.toml", codex_config(&model.base_url()).replace("stub-model", "gpt-5.5"));
        let hub = Serving::open_hub(&home);
        Some(Self { home, hub, model, browser })
    }

    /// Waits with the timeout of a real Codex.
    fn wait_until(&mut self, expression: &str) {
        let end = Instant::now() + RUN_DEADLINE;
        let page = "document.readyState === 'complete'";
        while self.browser.evaluate(&format!("{page} && Boolean({expression})")) != json!(true) {
            let text = || "document.body.innerText";
            assert!(Instant::now() < end, "never true: {expression}\n{}", self.browser.evaluate(text()));
            std::thread::park_timeout(std::time::Duration::from_millis(20));
        }
    }

    /// Types a prompt and presses one of the buttons below it.
    fn prompt(&mut self, text: &str, button: &str) {
        self.browser.evaluate("document.getElementById('prompt').focus()");
        self.browser.type_text(text);
        self.browser.click(button);
        self.browser.wait_until_loaded();
    }

    fn text(&mut self, selector: &str) -> String {
        let text = self.browser.evaluate(&format!("document.querySelector({selector:?})?.innerText ?? ''"));
        text.as_str().unwrap_or_default().to_owned()
    }
}

/// Waits for the approval on the open page, and presses one of its buttons.
fn decide_approval(session: &mut Session, asked: &[&str], act: &str) {
    // A page ignores clicks in the first moment of an approval.
    session.wait_until("document.querySelector('#asked form button:not([aria-disabled])')");
    let text = session.text("#asked");
    for part in asked {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
    session.browser.click(&format!("#asked button[value={act}]"));
    session.browser.wait_until_loaded();
}

fn run_story(version: &Version) {
    let Some(mut session) = Session::start(version) else { return };
    let work = session.home.path().join("corner-shop");

    // A thread begins; the page updates without a reload.
    session.browser.open(&session.hub.url("/codex"));
    session.browser.click(".begin summary");
    session.browser.evaluate(&format!("document.getElementById('cwd').value = {:?}", work.to_str().unwrap()));
    session.browser.evaluate("document.getElementById('sandbox').value = 'read-only'");
    session.browser.evaluate("document.getElementById('approval-policy').value = 'on-request'");
    session.prompt("Put the price list in order.", ".begin button");
    decide_approval(
        &mut session,
        &["Codex wants to run a command", SORT_PRICES, work.to_str().unwrap()],
        "approve",
    );
    session.wait_until("document.querySelector('#items').innerText.includes('The list is in order now')");
    assert_eq!(std::fs::read_to_string(work.join("prices.txt")).unwrap(), "plum  25\npear  40\n");
    session.wait_until("document.querySelector('#standing').innerText.includes('last turn completed')");
    let items = session
        .browser
        .evaluate("[...document.querySelectorAll('#items > ol > li')].map((item) => item.dataset.kind)");
    let items: Vec<&str> = items.as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let order = ["user", "command", "agent"];
    let answer: Vec<&str> = items.iter().copied().filter(|kind| order.contains(kind)).collect();
    assert_eq!(answer, order, "the transcript is in order: {items:?}");

    // The output of a command that succeeded is folded.
    let output = "document.querySelector('#items li[data-kind=command] details').open";
    assert_eq!(session.browser.evaluate(output), json!(false));
    session.browser.click("#items li[data-kind=command] summary");
    assert!(session.text("#items li[data-kind=command] details").contains("pear  40"));

    // A patch, with its diff.
    session.prompt("The plum costs one cent less.", "#reply");
    // A section that the user opens stays open while the page updates.
    session.browser.evaluate("document.querySelector('#items li[data-kind=command] summary').click()");
    session.wait_until("document.querySelector('#asked .diff')");
    assert_eq!(session.browser.evaluate(output), json!(true));
    let folded = "document.querySelector('#asked details').checkVisibility() && !document.querySelector('#asked [value=abort]').checkVisibility()";
    assert_eq!(session.browser.evaluate(folded), json!(true), "the further answers are folded");
    assert_eq!(session.text("#asked .diff .removed").trim_end(), "-plum  25");
    assert_eq!(session.text("#asked .diff .added").trim_end(), "+plum  24");
    if let Some(axe) = axe() {
        session.browser.evaluate(&axe);
        let found = session.browser.evaluate(
            "axe.run().then(({ violations }) => violations
                .filter(({ impact }) => impact === 'serious' || impact === 'critical')
                .map(({ id, nodes }) => [id, nodes.map(({ html, failureSummary }) => [html, failureSummary])]))",
        );
        assert_eq!(found, json!([]), "{found:#}");
    }
    if let (Some(folder), Some(name)) = (pictures(), version.picture) {
        session.browser.evaluate("document.activeElement.blur(); window.scrollTo(0, 0)");
        session.browser.replace_text(session.home.path().to_str().unwrap(), "~");
        session.browser.screenshot(&folder.join(name));
    }
    decide_approval(&mut session, &["Codex wants to change files", "prices.txt"], "session");
    session.wait_until("document.querySelector('#items').innerText.includes('Set the plum')");
    assert_eq!(std::fs::read_to_string(work.join("prices.txt")).unwrap(), "plum  24\npear  40\n");

    // Text for a running turn.
    session.prompt("Now be slow.", "#reply");
    session.wait_until(
        "document.querySelector('#steer') && document.querySelector('#items li[data-kind=command] .state.running')",
    );
    session.prompt("Mind the winter prices.", "#steer");
    if version.steers {
        assert_eq!(session.text("#main .error"), "");
    } else {
        let fault = session.text("#main .error");
        assert!(fault.contains("rejected the text for the running turn"), "{fault}");
        let kept = session.browser.evaluate("document.getElementById('prompt').value");
        assert_eq!(kept, "Mind the winter prices.", "what was typed is still there");
    }
    std::fs::write(work.join("go"), "").unwrap();
    session.wait_until("document.querySelector('#items').innerText.includes('Nothing more is to be done')");
    session.wait_until("document.querySelector('#state').innerText.includes('idle')");
    let last = session.model.requests().pop().unwrap()["input"].to_string();
    assert_eq!(last.contains("winter prices"), version.steers, "{last}");

    // An endless turn, without script.
    session.browser.evaluate("document.getElementById('prompt').value = ''");
    session.prompt("Go on for ever.", "#reply");
    session.wait_until("document.querySelector('#interrupt')");
    session.browser.assert_no_page_errors();
    session.browser.enable_scripts(false);
    let path = session.browser.evaluate("location.pathname");
    let page = session.hub.url(path.as_str().unwrap());
    session.browser.open(&page);
    session.browser.click("#interrupt");
    session.browser.wait_until_loaded();
    let end = Instant::now() + DEADLINE;
    while !session.text("#standing").contains("last turn interrupted") {
        assert!(Instant::now() < end, "{}", session.text("#main"));
        session.browser.open(&page);
    }
    session.browser.open(&session.hub.url("/codex?q=winter"));
    assert_eq!(session.text("#results").contains("Put the price list in order."), version.steers);
}

/// Two commands in one turn; the first approval comes once the page is open, the second right after the first decision.
const TWO_APPROVALS: &str = r#"while ! test -e "$HOME/ask"; do sleep 0.02; done
want() { line '{"id":"'"$1"'","method":"item/commandExecution/requestApproval","params":{"threadId":"t-1","turnId":"u-1","itemId":"'"$1"'","command":"touch '"$1"'","cwd":"/work"}}'; }
for one in first second third; do want $one; read -r decided; say "$one $(printf '%s' "$decided" | tr '"' "'")"; done; done_"#;

#[test]
fn a_click_at_the_moment_of_a_new_approval_does_not_answer_it() {
    let Some(mut browser) = Browser::start() else { return };
    let home = Home::new();
    install(&home, &faults::app_server(TWO_APPROVALS), "auto");
    let hub = Serving::open_hub(&home);
    let mut running = RunningCommand::start(&home, &["please"]);
    running.wait_for("turn/started");
    browser.open(&hub.url("/codex/t-1"));
    browser.wait_until("document.querySelector('#pulse.live')");
    // A user presses every new button at once, again and again.
    browser.evaluate(
        "pressed = 0; new MutationObserver(() => { const button = document.querySelector('#asked button[value=approve]');
         if (button) { pressed += 1; button.click(); } }).observe(document.getElementById('asked'), { childList: true, subtree: true }); 0",
    );
    home.write("ask", "");
    running.wait_for_approval("touch first");
    browser.wait_until(
        "pressed > 0 && document.querySelector('#asked button[value=approve]:not([aria-disabled])')",
    );
    assert_eq!(pending_decisions(&home), 1, "nothing was decided");
    browser.assert_no_page_errors();
    browser.click("#asked button[value=deny]");
    browser.wait_until_loaded();
    running.wait_for("by user");
    running.wait_for_approval("touch second");

    // The same without script, where the hub alone rejects.
    browser.enable_scripts(false);
    browser.open(&hub.url("/codex/t-1"));
    browser.wait_until("document.querySelector('#asked').innerText.includes('touch second')");
    let now = "Date.now() + 60000";
    browser.evaluate(&format!("document.querySelector('#asked [name=made]').value = {now}"));
    browser.click("#asked button[value=approve]");
    browser.wait_until_loaded();
    let fault = browser.evaluate("document.querySelector('#main .error').innerText");
    assert!(fault.as_str().unwrap().contains("was ignored"), "{fault}");
    assert_eq!(pending_decisions(&home), 1);
    browser.evaluate("document.querySelector('#asked [name=made]').value = 0");
    browser.click("#asked button[value=approve]");
    browser.wait_until_loaded();
    running.wait_for("by user");
    let third = running.wait_for_approval("touch third");
    assert!(codex(&home, &["deny", &third]).status.success(), "{third}");
    let (text, _) = running.end();
    let output: Vec<&str> =
        output_lines(&text).into_iter().filter(|line| line.contains("'decision'")).collect();
    assert_eq!(output.len(), 3, "{text}");
    for (line, word) in output.iter().zip(["first", "second", "third"]) {
        assert!(line.starts_with(word), "{line}");
        assert_eq!(line.contains("'decision':'accept'"), word == "second", "{line}");
    }
}

/// The number of decisions that Codex waits for.
fn pending_decisions(home: &Home) -> usize {
    let approvals = codex(home, &["approvals", "--json"]).stdout;
    let approvals: Value = serde_json::from_str(&approvals).unwrap_or_default();
    approvals["items"].as_array().map_or(0, Vec::len)
}

#[test]
fn a_codex_0_169_session_works_in_the_browser() {
    run_story(&Version {
        package: "@openai/codex",
        backend: "auto",
        steers: true,
        picture: Some("codex-thread.png"),
    });
}

#[test]
fn a_codex_0_153_session_works_in_the_browser() {
    run_story(&Version { package: "codex-0-153", backend: "auto", steers: true, picture: None });
}

#[test]
fn a_codex_0_92_session_works_in_the_browser() {
    run_story(&Version { package: "codex-0-92", backend: "auto", steers: false, picture: None });
}
