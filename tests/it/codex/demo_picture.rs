//! The animated picture of the README: a real Codex asks for a permission in one terminal, and the user allows it in the
//! Inbox in another one.

use super::terminal::{shows, wait_for_screen};
use super::threads;
use super::versions::install_package;
use crate::support::Home;
use crate::support::model::{Model, Script, Turn};
use crate::support::real_clients::{codex_config, is_excluded};
use crate::support::serving::Serving;
use crate::support::terminal::{Moment, Terminal, animated_svg, svg, text};
use crate::web::browser::pictures;

const COMMAND: &str = "sort -k2n -o prices.txt prices.txt && cat prices.txt";
const ANSWER: &str = "The price list is sorted: the cheapest item comes first.";

/// Texts of the picture, each of another moment, and none of them with a time or an id.
const TEXTS: [&str; 5] =
    ["There are no pending questions", "Codex wants to run a command", "(•)", "approved (by a user)", ANSWER];

#[test]
fn the_animated_picture_shows_real_screens() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/screenshots/demo.svg");
    let stored = std::fs::read_to_string(file).unwrap_or_default().replace('\u{a0}', " ");
    if is_excluded("npm") {
        return;
    }
    let home = Home::new();
    install_package(&home, "@openai/codex", "auto");
    home.write("shop/prices.txt", "pear   40\napple  25\nplum   30\n");
    let shop = home.path().join("shop");
    let model = Model::start(Script::Turns(vec![Turn {
        on: "price list",
        does: Script::Escalated(COMMAND.to_owned()),
        says: ANSWER,
    }]));
    home.write(".codex/config.toml", codex_config(&model.base_url()).replace("stub-model", "gpt-5.5"));
    let _hub = Serving::socket_hub(&home);

    let mut inbox = Terminal::start(&home, &["inbox"], 96, 23, &[]);
    shows(&mut inbox, "There are no pending questions");
    let arguments = ["codex", "--cwd", shop.to_str().unwrap(), "--sandbox", "read-only"];
    let arguments = [&arguments[..], &["--approval-policy", "on-request", "Sort the price list."]].concat();
    let mut codex = Terminal::start(&home, &arguments, 96, 15, &[]);
    let mut moments = Vec::new();
    let mut keep = |codex: &Terminal, inbox: &Terminal, seconds| {
        moments.push(Moment { screens: vec![codex.screen(), inbox.screen()], seconds });
    };

    let empty = inbox.screen();
    shows(&mut codex, "Codex wants to run a command");
    shows(&mut inbox, "Codex wants to run a command");
    keep(&codex, &inbox, 3.0);
    if let Some(folder) = pictures() {
        // The whole view, for the page about Codex.
        let thread = threads(&home)[0]["thread"].as_str().unwrap().to_owned();
        let mut large = Terminal::start(&home, &["codex", "--thread", &thread], 100, 24, &[]);
        shows(&mut large, "Codex wants to run a command");
        let picture = svg(&large.screen(), "Codex in a terminal", &[(shop.to_str().unwrap(), "~/shop")]);
        std::fs::write(folder.join("codex-terminal.svg"), picture).unwrap();
    }
    inbox.send("\r");
    shows(&mut inbox, "Enter sends");
    keep(&codex, &inbox, 3.0);
    // In its first moment a question ignores keys.
    wait_for_screen(&mut inbox, "a chosen option", "1", |screen| screen.contains("(•)"));
    keep(&codex, &inbox, 1.5);
    wait_for_screen(&mut inbox, "that it was answered", "\r", |screen| !screen.contains("(•)"));
    shows(&mut inbox, "There are no pending questions");
    let screen = shows(&mut codex, ANSWER);
    assert!(screen.contains("approved (by a user)"), "{screen}");
    shows(&mut codex, "Codex · idle");
    keep(&codex, &inbox, 4.0);
    let asked = &moments[0].screens[0];
    assert!(text(asked).contains(COMMAND), "{}", text(asked));
    moments[0].seconds = 2.5;
    moments.insert(0, Moment { screens: vec![moments[0].screens[0].clone(), empty], seconds: 1.0 });

    let titles = ["Terminal 1: Codex, started with adjutant codex", "Terminal 2: adjutant inbox"];
    let replaced = [(shop.to_str().unwrap(), "~/shop")];
    let label =
        "Codex asks for a permission in one terminal, and the user allows it in the Inbox in another one";
    let picture = animated_svg(&titles, &moments, 2, label, &replaced);
    if let Some(folder) = pictures() {
        std::fs::write(folder.join("demo.svg"), &picture).unwrap();
    }
    let picture = picture.replace('\u{a0}', " ");
    for wanted in TEXTS {
        let (there, now) = (stored.matches(wanted).count(), picture.matches(wanted).count());
        assert!(there == now && now > 0, "{wanted}: {there} in demo.svg, {now} now; take it again");
    }
    assert!(picture.len() < 40_000, "{} bytes", picture.len());
}
