//! The pages over all toolsets: the timeline, the settings, and one search for everything. All of it without script.

use serde_json::json;

use super::agent_fixtures::DelegatingClient;
use super::console_client::Console;
use super::question_fixtures::{ask, choice, field};
use super::tasks::token;

/// The lines of a timeline's page: the class of each, and its text.
fn lines(page: &str) -> Vec<(String, String)> {
    let items = page.split("<ol class=\"timeline\">").nth(1).unwrap_or_default();
    let items = items.split("</ol>").next().unwrap().split("<li class=\"").skip(1);
    let text = |html: &str| {
        let plain: String =
            html.split('<').filter_map(|part| part.split_once('>')).map(|(_, text)| text).collect();
        plain.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    items.map(|item| (item.split('"').next().unwrap().to_owned(), text(&format!("<{item}")))).collect()
}

#[test]
fn the_timeline_of_all_toolsets_is_searched_and_paged() {
    let console = Console::new();
    let mut delegating_client = DelegatingClient::new(&console);
    let done = delegating_client.delegate(&console, "Sort the <b>tides</b>: quick", json!({}));
    delegating_client.wait(&done);
    super::question_fixtures::ask(
        &console,
        1,
        "Which port?",
        "Say it.",
        &[super::question_fixtures::field("answer", "", super::question_fixtures::choice(&["1", "2"], 1))],
        "normal",
    );
    let mut agent = console.connect_agent();
    agent.initialize("2025-11-25");
    let expand = json!({"name": "expand_prompt", "arguments": {"command": "research", "input": "x"}});
    agent.call(1, "tools/call", expand);

    let page = console.get("/timeline").body.replace("&#x2f;", "/");
    let all = lines(&page);
    let kinds: Vec<&str> = all.iter().map(|(kind, _)| kind.as_str()).collect();
    assert_eq!(kinds, ["expanded", "connected", "asked", "succeeded", "delegated", "connected"], "{all:#?}");
    assert!(
        page.contains(&format!("href=\"/tasks/{done}\"")) && page.contains("&lt;b&gt;tides&lt;/b&gt;"),
        "{page}"
    );
    assert!(all[3].1.starts_with("reviewer finished: Sort the"), "{all:?}");
    assert!(page.contains("of=codex\">Sessions</a>"), "{page}");
    assert_eq!(lines(&console.get("/").body).len(), 6, "the start page shows them too");

    let found = |address: &str| -> Vec<String> {
        lines(&console.get(address).body).into_iter().map(|(kind, _)| kind).collect()
    };
    assert_eq!(found("/timeline?q=WHICH+port"), ["asked"]);
    assert_eq!(found("/timeline?q=reviewer"), ["succeeded", "delegated"]);
    assert_eq!(found("/timeline?of=agents"), ["succeeded", "delegated"]);
    assert_eq!(found("/timeline?of=clients"), ["connected", "connected"]);
    assert_eq!(found("/timeline?of=prompts&q=research"), ["expanded"]);
    assert_eq!(found("/timeline?q=100%25"), Vec::<String>::new(), "a percent sign is a percent sign");
    assert!(console.home.run(["users", "add", "Ann Lee", "--id", "ann"], "").status.success());
    let answer = lines(&console.get("/timeline?of=assistant").body);
    assert!(answer.len() == 1 && answer[0].1.contains("saved a user: ann"), "{answer:?}");
    assert_eq!(console.get("/timeline?of=kitchen").status, 400);
    assert_eq!(console.get("/timeline?at=x").status, 400);
}

#[test]
fn the_pages_of_the_timeline_repeat_and_lose_no_line() {
    let console = Console::new();
    let mut agent = console.connect_agent();
    agent.initialize("2025-11-25");
    for number in 0..130 {
        let expand = json!({"name": "expand_prompt", "arguments": {"command": "research", "input": "x"}});
        agent.call(number, "tools/call", expand);
    }
    let (mut address, mut found) = ("/timeline".to_owned(), 0);
    loop {
        let page = console.get(&address);
        assert_eq!(page.status, 200, "{address}");
        found += lines(&page.body).len();
        let Some(next) = page.body.split("rel=\"next\" href=\"").nth(1) else { break };
        address = next.split('"').next().unwrap().replace("&amp;", "&").replace("&#x2f;", "/");
    }
    assert_eq!(found, 131);
}

#[test]
fn the_access_page_lists_rules_tokens_and_users() {
    let console = Console::new();
    let done = console.home.run(["users", "add", "Ann"], "");
    assert!(done.status.success(), "{}", done.stderr);
    let rules = "[[approval_rules]]\nname = \"tests\"\ndecision = \"allow\"\ncommand = \"cargo test *\"\n";
    console.home.write(".adjutant/config.toml", rules);
    let page =
        super::question_fixtures::wait_for_text(&console, "/settings/access", "<strong>tests</strong>");
    assert!(page.contains("default: secrets") && page.contains(">Ann</a>"), "{page}");
    assert!(page.contains("<code>--auth none</code>"), "{page}");
    assert!(console.get("/settings").body.contains(">Recordings <"), "the recordings are with the hub");
}

#[test]
fn the_settings_page_shows_the_source_of_each_setting_and_no_secret() {
    let console = Console::new();
    console.home.write("other/config.toml", "grace_seconds = 3\n[http]\ntls_names = []\n[notifications]\nmail = \"smtp://ann:sesame@localhost\"\n[ntfy]\ntopic = \"a-hidden-topic\"\n[clients.codex]\ntoolsets = [\"prompts\"]\n");
    let page = console.get("/settings").body;
    let of = |page: &str, key: &str| {
        let row =
            page.split(&format!("<div id=\"{key}\">")).nth(1).unwrap_or_else(|| panic!("no {key}\n{page}"));
        row.split("</div>").next().unwrap().replace("&quot;", "\"").replace("&#x2f;", "/")
    };
    assert!(of(&page, "http.address").contains(">flag</span> <code>--http"), "{page}");
    assert!(
        of(&page, "grace_seconds").contains("<code>5</code>")
            && of(&page, "grace_seconds").contains(">default<")
    );
    assert!(of(&page, "home").contains(">environment</span> <code>HOME"));

    let home = console.home.path().join("other");
    let arguments = ["serve", "--home", home.to_str().unwrap()];
    let mut command = console.home.adjutant([] as [&str; 0]);
    command.args(arguments);
    let mut other = crate::support::serving::Serving::open_hub_after(command);
    let page = other.page("/settings");
    assert!(
        of(&page, "grace_seconds").contains("<code>3</code>")
            && of(&page, "grace_seconds").contains("config.toml")
    );
    assert!(of(&page, "home").contains(">flag</span> <code>--home"));
    // Nobody set the one list, and somebody set the other to nothing.
    assert!(of(&page, "http.behind_tls_proxy").contains(">not set<"), "{page}");
    assert!(of(&page, "http.tls_names").contains("<code>[]</code>"), "{page}");
    assert!(of(&page, "clients.codex").contains("prompts"));
    assert!(of(&page, "notifications.mail").contains("set, not shown"));
    assert!(!page.contains("sesame") && !page.contains("a-hidden-topic"), "{page}");
    other.kill();
}

#[test]
fn the_search_finds_every_kind_of_item_without_script() {
    let console = Console::new();
    let mut delegating_client = DelegatingClient::new(&console);
    let done = delegating_client.delegate(&console, "Sort the tides: quick", json!({}));
    delegating_client.wait(&done);
    let found = |q: &str| {
        let page = console.get(&format!("/find?q={q}")).body.replace("&#x2f;", "/");
        let found = page.split("id=\"found\"").nth(1).unwrap();
        let links = found.split("</main>").next().unwrap().split("class=\"name\" href=\"").skip(1);
        let links = links.map(|rest| rest.split('"').next().unwrap().to_owned());
        // Every text can be delegated.
        links.filter(|link| !link.starts_with("/tasks?delegate=")).collect::<Vec<_>>()
    };
    assert!(found("").contains(&"/settings".to_owned()));
    assert_eq!(found("pull-req"), ["/prompts/review/pull-request"]);
    assert_eq!(found("tired+colleague"), ["/agents/reviewer"]);
    assert_eq!(found("sort+the"), [format!("/tasks/{done}")]);
    assert_eq!(found("approval_timeout"), ["/settings#codex.approval_timeout_seconds"]);
    assert_eq!(found("nothing-is-called-like-this"), Vec::<String>::new());
    // The page with this name, before all that contains it.
    assert_eq!(found("tasks")[0], "/tasks");
    assert_eq!(found("research")[0], "/prompts/research");
}

#[test]
fn the_search_lists_what_waits_for_the_user_first() {
    let console = Console::new();
    let mut delegating_client = DelegatingClient::new(&console);
    delegating_client.delegate(&console, "Deploy the table of tides, and hang", json!({}));
    let item = [field("answer", "", choice(&["Yes", "No"], 1))];
    ask(&console, 1, "Should I deploy it?", "The tests pass.", &item, "normal");
    console.home.write(".adjutant/prompts/deployment.md", "Deploy.");
    let kinds = |q: &str| {
        let page = console.get(&format!("/find?q={q}")).body;
        let kinds = page.split("<span class=\"kind\">").skip(1);
        kinds.map(|rest| rest.split('<').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(kinds("deploy"), ["Question", "Task", "Prompt", "Action"]);
    assert_eq!(kinds("delegate")[0], "Action");
    // Before anything is typed.
    let open = kinds("");
    assert_eq!(open[..3], ["Question", "Task", "Action"]);
    assert_eq!(open.last().map(String::as_str), Some("Page"));
    // Enter opens the page with this very name, also when a question has the name in its title.
    ask(&console, 2, "May I delete old tasks?", "There are 40.", &item, "normal");
    assert_eq!(kinds("tasks")[..2], ["Page", "Question"]);
    let page = console.get("/find?q=TIDES").body;
    assert!(page.contains("Deploy the table of <mark>tides</mark>, and hang</a>"), "{page}");
    let page = console.get("/find?q=%3Cmark%3E").body;
    assert!(!page.contains("Delegate “<mark>"), "what was typed stays text: {page}");
}

#[test]
fn the_search_offers_acts_without_script() {
    let console = Console::new();
    ask(
        &console,
        1,
        "Deploy the tide table?",
        "The tests pass.",
        &[field("answer", "", choice(&["Yes", "No"], 1))],
        "normal",
    );
    let page_of = |path: &str| console.get(path).body.replace("&#x2f;", "/");
    let page = page_of("/find?q=answer");
    assert!(
        page.contains(
            "href=\"/questions/q00000000000000000001\"><mark>Answer</mark> the oldest question</a>"
        ),
        "{page}"
    );
    let page = page_of("/find?q=deploy+it+%26+wait");
    assert!(page.contains("href=\"/tasks?delegate=deploy%20it%20%26%20wait\""), "{page}");
    let form = page_of("/tasks?delegate=deploy%20it%20%26%20wait");
    assert!(
        form.contains("<details class=\"begin\" open>") && form.contains(">deploy it &amp; wait</textarea>"),
        "{form}"
    );
    let page = console.get("/find?q=away").body;
    assert!(page.contains("value=\"away\"><mark>Away</mark> for 30 minutes</button>"), "{page}");
    let away = format!("csrf={}&minutes=30&availability=away", token(&page));
    assert_eq!(console.post("/questions/availability", &away).status, 303);
    let page = console.get("/").body;
    assert!(page.contains("<summary>Away for 29 min") || page.contains("<summary>Away for 30 min"), "{page}");
}
