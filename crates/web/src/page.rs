//! Rendering of templates to responses: the layout and the headers of every page.

use std::sync::LazyLock;
use std::time::Duration;

use axum::http::{HeaderName, Method, StatusCode, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, Output, State, UndefinedBehavior, Value, context};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::assets;
use super::diff::diff;
use super::error::Failure;
use super::highlight;
use super::highlight::marked;
use super::{csrf, excerpt, markdown, number_format, request_acts, sentence, timefmt};
use adjutant_app::App;
use adjutant_assistant::logins::Act;
use adjutant_base::config::{self, env};
use adjutant_base::text::escape_invisible::{escape, is_invisible};
use adjutant_host::git::change_word;

/// A section of the navigation.
pub(super) struct Section {
    pub(super) label: &'static str,
    pub(super) path: &'static str,
    /// The lines of its picture, on a square of 16.
    icon: &'static str,
}

const fn section(label: &'static str, path: &'static str, icon: &'static str) -> Section {
    Section { label, path, icon }
}

/// The groups of the navigation with their labels, in its order. The first one is the tab bar of a phone.
pub(super) const SECTIONS: [(&str, &[Section]); 3] = [
    (
        "",
        &[
            section("Inbox", INBOX, "M2 9.5 4 3h8l2 6.5V13H2ZM2 9.5h3.5a2.5 2.5 0 0 0 5 0H14"),
            section("Tasks", "/tasks", "M2 4l1.2 1.2L5.5 3M2 11l1.2 1.2L5.5 10M8 4.5h6M8 11.5h6"),
            section("Sessions", "/codex", "M2 3h12v8H7l-3 2.5V11H2Z"),
            section("Activity", "/timeline", "M1.5 8.5h3l2-5 3 9 2-4h3"),
        ],
    ),
    (
        "Library",
        &[
            section("Prompts", "/prompts", "M4 2h5.5L13 5.5V14H4ZM9 2v4h4M6.5 9h4M6.5 11.5h4"),
            section(
                "Agents",
                "/agents",
                "M8 8a2.75 2.75 0 1 0 0-5.5A2.75 2.75 0 0 0 8 8ZM2.5 14c.5-3 2.5-4 5.5-4s5 1 5.5 4",
            ),
        ],
    ),
    (
        "",
        &[
            section("Calendar", "/calendar", "M2.5 4h11v9.5h-11ZM2.5 7h11M5.5 2.5v3M10.5 2.5v3"),
            section(
                "Settings",
                "/settings",
                "M2 5h5M11 5h3M2 11h2M8 11h6M9 7a2 2 0 1 0 0-4 2 2 0 0 0 0 4ZM6 13a2 2 0 1 0 0-4 2 2 0 0 0 0 4Z",
            ),
        ],
    ),
];

/// The start page, whose entry shows the number of pending questions.
pub(super) const INBOX: &str = "/";

/// The characters that a path encodes: all but letters, digits, the marks of RFC 3986 (section 2.3) and `/`.
const PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// Every page's policy: only the hub's own files and the style of the frame within the page, and no frames.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    format!(
        "default-src 'none'; style-src 'self' {}; script-src 'self'; font-src 'self'; img-src 'self' data:; connect-src 'self'; \
         manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
        assets::FRAME_STYLE_SOURCE.as_str()
    )
});

static FRAME_STYLE: LazyLock<Value> = LazyLock::new(|| Value::from_safe_string(assets::FRAME_STYLE.clone()));

static TEMPLATES: LazyLock<Result<Environment<'static>, minijinja::Error>> = LazyLock::new(|| {
    let mut templates = Environment::new();
    templates.set_undefined_behavior(UndefinedBehavior::Strict);
    templates.set_syntax(SyntaxConfig::builder().trim_blocks(true).build()?);
    templates.set_formatter(inert);
    templates.add_filter("marked", |text: &str| Value::from_safe_string(marked(text)));
    templates
        .add_filter("exact", |text: &str| Value::from_safe_string(minijinja::HtmlEscape(text).to_string()));
    templates.add_filter("url", |name: &str| Value::from_safe_string(path(name)));
    templates.add_filter("ticked", |text: &str| Value::from_safe_string(highlight::ticked(text)));
    templates.add_filter("instant", timefmt::time);
    templates.add_filter("duration", |millis: u64| timefmt::length(Duration::from_millis(millis)));
    templates.add_filter("size", number_format::size);
    templates.add_filter("grouped", number_format::grouped);
    templates.add_filter("sentence", sentence::sentence);
    templates.add_filter("home", |folder: &str| env::with_tilde(folder.as_ref()));
    templates.add_filter("change_word", |letters: &str| change_word(letters));
    templates.add_filter("title", excerpt::title);
    templates.add_filter("excerpt", |text: &str| excerpt::of(text));
    templates.add_filter("diff", |text: &str| excerpt::rendered(text, diff));
    templates.add_filter("markdown", |text: &str| excerpt::rendered(text, markdown::html));
    for (name, source) in [
        ("layout.html", include_str!("../templates/layout.html")),
        ("macros.html", include_str!("../templates/macros.html")),
        ("inbox.html", include_str!("../templates/inbox.html")),
        ("prompts.html", include_str!("../templates/prompts.html")),
        ("prompt.html", include_str!("../templates/prompt.html")),
        ("questions.html", include_str!("../templates/questions.html")),
        ("approvals.html", include_str!("../templates/approvals.html")),
        ("question.html", include_str!("../templates/question.html")),
        ("search.html", include_str!("../templates/search.html")),
        ("keyboard.html", include_str!("../templates/keyboard.html")),
        ("access.html", include_str!("../templates/access.html")),
        ("settings.html", include_str!("../templates/settings.html")),
        ("notification_settings.html", include_str!("../templates/notification_settings.html")),
        ("timeline.html", include_str!("../templates/timeline.html")),
        ("workers.html", include_str!("../templates/workers.html")),
        ("history.html", include_str!("../templates/history.html")),
        ("patterns.html", include_str!("../templates/patterns.html")),
        ("calendar.html", include_str!("../templates/calendar.html")),
        ("agents.html", include_str!("../templates/agents.html")),
        ("agent.html", include_str!("../templates/agent.html")),
        ("tasks.html", include_str!("../templates/tasks.html")),
        ("race.html", include_str!("../templates/race.html")),
        ("task.html", include_str!("../templates/task.html")),
        ("threads.html", include_str!("../templates/threads.html")),
        ("thread.html", include_str!("../templates/thread.html")),
        ("task_lines.html", include_str!("../templates/task_lines.html")),
        ("prompt_preview.html", include_str!("../templates/prompt_preview.html")),
        ("login.html", include_str!("../templates/login.html")),
        ("logged_in.html", include_str!("../templates/logged_in.html")),
        ("error.html", include_str!("../templates/error.html")),
    ] {
        templates.add_template(name, source)?;
    }
    Ok(templates)
});

/// Headers of every response but the files with a hashed name. A referrer policy of `no-referrer` would turn the `Origin`
/// of the console's forms into `null`, which the guard rejects.
pub(super) fn headers() -> [(HeaderName, &'static str); 5] {
    [
        (header::CONTENT_SECURITY_POLICY, POLICY.as_str()),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "same-origin"),
        // A separate process for this origin with its port. An opener policy would make the browser start another process
        // at the first page, which costs a third of the time to its paint. A window that opened the console can only
        // navigate it away.
        (HeaderName::from_static("origin-agent-cluster"), "?1"),
    ]
}

/// The place of a page in the navigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In the section with this path of the navigation.
    Section(&'static str),
    /// In none of them.
    Nowhere,
    /// Before the login, where no section can be opened.
    Outside,
}

/// Renders a whole page.
pub(super) async fn page(
    app: &App,
    place: Place,
    template: &str,
    values: Value,
) -> Result<Response, Failure> {
    let pending = count_pending(app).await;
    fragment(template, context! { ..context! { layout => layout(place, Some(app), pending)? }, ..values })
}

/// Returns the number of pending questions. Without the store only this number is missing, not the page.
pub(super) async fn count_pending(app: &App) -> u64 {
    app.questions.count_pending().await.unwrap_or_else(|error| {
        tracing::error!(%error, "the pending questions could not be counted");
        0
    })
}

/// Renders a page without other values of the hub, for errors.
pub(super) fn bare(
    status: StatusCode,
    place: Place,
    pending: u64,
    template: &str,
    values: Value,
) -> Result<Response, Failure> {
    let layout = layout(place, None, pending)?;
    let page = fragment(template, context! { ..context! { layout }, ..values })?;
    Ok((status, page).into_response())
}

/// Renders a template without the layout, for a script that puts it into a page.
pub(super) fn fragment(template: &str, values: Value) -> Result<Response, Failure> {
    Ok((headers(), Html(text(template, values)?)).into_response())
}

/// Renders a template.
pub(super) fn text(template: &str, values: Value) -> Result<String, Failure> {
    let templates = TEMPLATES.as_ref().map_err(Failure::internal)?;
    templates.get_template(template).and_then(|found| found.render(values)).map_err(Failure::internal)
}

/// Returns a redirect to the path of a page.
pub(super) fn redirect(path: &str) -> Response {
    (headers(), Redirect::to(path)).into_response()
}

/// Returns the choices of a filter: each value with its label, and whether it is chosen.
pub(super) fn choices<T: PartialEq>(
    all: impl IntoIterator<Item = (T, &'static str)>,
    chosen: Option<&T>,
    name: impl Fn(&T) -> &'static str,
) -> Vec<Value> {
    let choice = |(value, label)| context! { word => name(&value), label, here => chosen == Some(&value) };
    all.into_iter().map(choice).collect()
}

/// Returns the last row of a full page, after which the next page begins.
pub(super) fn last_of_full<T>(rows: &[T], page_size: u32) -> Option<&T> {
    rows.last().filter(|_| u32::try_from(rows.len()).is_ok_and(|length| length == page_size))
}

fn layout(place: Place, app: Option<&App>, pending: u64) -> Result<Value, Failure> {
    let login = app.and_then(|app| app.login.as_ref());
    let may = |act: Act| app.is_none_or(|app| app.may(act));
    let is_shown = |section: &&Section| may(request_acts::act(&Method::GET, section.path));
    let entry = |section: &Section| {
        let badge = (section.path == INBOX).then_some(pending);
        let here = place == Place::Section(section.path);
        context! { label => section.label, path => section.path, icon => section.icon, here, badge }
    };
    let group = |(label, sections): (&str, &[Section])| {
        context! { label, sections => sections.iter().filter(is_shown).map(entry).collect::<Vec<_>>() }
    };
    let sections: Vec<Value> = match place {
        Place::Outside => Vec::new(),
        Place::Section(_) | Place::Nowhere => SECTIONS.into_iter().map(group).collect(),
    };
    let is_in_others =
        SECTIONS[1..].iter().any(|(_, all)| all.iter().any(|one| place == Place::Section(one.path)));
    Ok(context! {
        sections,
        is_in_others,
        hub => app.is_some(),
        // The beginning of the commands that the page shows.
        command => app.map_or_else(|| "adjutant".to_owned(), |app| config::command_prefix(&app.config.home)),
        user => login.map(|login| context! { name => &login.name, role => login.role.name() }),
        csrf => if login.is_some() { Some(csrf::token()?) } else { None },
        operates => may(Act::Operate),
        pending,
        version => env!("CARGO_PKG_VERSION"),
        frame_style => FRAME_STYLE.clone(),
        style => assets::STYLE.path.as_str(),
        script => assets::SCRIPT.path.as_str(),
        icon => if pending == 0 { &assets::ICON } else { &assets::ICON_PENDING }.path.as_str(),
        manifest => assets::MANIFEST.path.as_str(),
    })
}

/// Writes a value without any effect on the page: HTML is escaped, and characters that hide or reorder text are written
/// as their codes.
fn inert(out: &mut Output<'_>, state: &mut State<'_, '_>, value: &Value) -> Result<(), minijinja::Error> {
    match value.as_str() {
        Some(text) if !value.is_safe() && text.contains(is_invisible) => {
            minijinja::escape_formatter(out, state, &Value::from(escape(text).into_owned()))
        }
        _ => minijinja::escape_formatter(out, state, value),
    }
}

/// Percent-encodes a name as a path; `/` stays.
pub(super) fn path(name: &str) -> String {
    utf8_percent_encode(name, PATH).to_string()
}
