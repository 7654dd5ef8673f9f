//! Jinja, for files that ask for it: strict about undefined names, with fuel, and with a bound on every byte that
//! a template can make. Templates come with repositories, so none may take the hub down.

mod complexity;
mod filters;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;

use minijinja::{AutoEscape, Environment, ErrorKind, UndefinedBehavior, Value};

use super::Template;
use crate::arguments::bind::Bound;
use crate::arguments::text_of;
use crate::{Partials, Prompt};
use adjutant_base::text::front_matter;

/// Instructions of one rendering. Where more than [`SMALL`] bytes are put in, fewer in proportion, since an
/// instruction may read all of them.
const FUEL: usize = 50_000;
const SMALL: usize = 64 * 1024;
/// Maximum depth of includes within includes, and of loops within loops.
const RECURSION: usize = 64;

/// A checked Jinja template; the text is the prompt's body.
#[derive(Clone, Debug)]
pub(crate) struct Jinja {
    names: Vec<String>,
    /// The line of the file with which the body begins.
    first_line: usize,
}

/// The reason why a template is not rendered.
#[derive(Debug)]
pub(crate) enum RenderError {
    /// The text would have at least this many bytes.
    TooLarge(usize),
    /// The fault of the template or its values, with the line.
    Template(String),
}

impl Jinja {
    /// Checks the template of a file; the error names its line and the reason.
    pub(super) fn compile(text: &str, body: &str) -> Result<Self, String> {
        let first_line = first_line(text, body);
        complexity::check(body, first_line)?;
        let environment = environment(0);
        let template =
            environment.template_from_named_str("", body).map_err(|error| reason(&error, |_| first_line))?;
        let mut names: Vec<String> = template.undeclared_variables(false).into_iter().collect();
        names.sort_unstable();
        Ok(Self { names, first_line })
    }

    /// Returns the names that the template reads and does not set.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }
}

/// Renders a prompt with the Jinja engine. Includes find the root's partials and nothing else.
pub(crate) fn render(
    prompt: &Prompt,
    bound: &Bound<'_>,
    partials: Arc<Partials>,
    appended: Option<&str>,
    limit: usize,
) -> Result<String, RenderError> {
    let Template::Jinja(Jinja { first_line: own, .. }) = prompt.template else {
        return Err(RenderError::Template("it is not a Jinja template".to_owned()));
    };
    let texts = Arc::clone(&partials);
    let first_line = |partial: Option<&str>| match partial.and_then(|name| texts.get(name)) {
        Some(text) => first_line(text, body_of(text)),
        None => own,
    };
    let given = bound.values.iter().map(|(_, value)| text_of(value).len());
    let mut environment = environment(given.fold(bound.input.len(), usize::saturating_add));
    environment.set_loader(move |name| match partials.get(name) {
        None => Ok(None),
        Some(text) => {
            let body = body_of(text);
            complexity::check(body, self::first_line(text, body))
                .map_err(|reason| minijinja::Error::new(ErrorKind::SyntaxError, reason))?;
            Ok(Some(body.to_owned()))
        }
    });
    let mut output = Bounded { text: Vec::new(), limit, refused: None };
    let rendered = environment
        .template_from_named_str("", &prompt.body)
        .and_then(|template| template.render_captured_to(values(prompt, bound), &mut output).map(drop));
    if let Some(length) = output.refused {
        return Err(RenderError::TooLarge(length));
    }
    rendered.map_err(|error| RenderError::Template(reason(&error, first_line)))?;
    for part in appended.iter().flat_map(|text| ["\n\n", text]) {
        output
            .write_all(part.as_bytes())
            .map_err(|_| RenderError::TooLarge(output.refused.unwrap_or(limit)))?;
    }
    String::from_utf8(output.text).map_err(|_| RenderError::Template("the result is not UTF-8".to_owned()))
}

/// Returns the environment of a template, for values of `given` bytes together.
fn environment(given: usize) -> Environment<'static> {
    let mut environment = Environment::empty();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_fuel(Some(u64::try_from(FUEL / given.div_ceil(SMALL).max(1)).unwrap_or(0)));
    environment.set_recursion_limit(RECURSION);
    filters::add(&mut environment, given);
    environment
}

/// Returns the values for a template. A declared argument without a value is an empty text, so that `{% if it %}`
/// works; any other name is undefined.
fn values(prompt: &Prompt, bound: &Bound<'_>) -> Value {
    let declared = prompt.arguments.iter().map(|argument| (argument.name.as_str(), Value::from("")));
    let given = bound.values.iter().map(|(name, value)| (*name, value_of(value)));
    let input =
        std::iter::once(("input", Value::from(&*bound.input))).filter(|_| prompt.argument("input").is_none());
    let all: BTreeMap<&str, Value> = declared.chain(given).chain(input).collect();
    Value::from(all)
}

fn value_of(value: &serde_json::Value) -> Value {
    match value {
        serde_json::Value::String(text) => Value::from(text.as_str()),
        serde_json::Value::Bool(truth) => Value::from(*truth),
        serde_json::Value::Number(number) => match number.as_i64() {
            Some(whole) => Value::from(whole),
            None => Value::from(number.as_f64()),
        },
        _ => Value::from(""),
    }
}

/// Returns the text of a partial without its front matter.
fn body_of(text: &str) -> &str {
    front_matter::parse(text).map_or(text, |parsed| parsed.body)
}

/// Returns the line of a file with which its body begins; `body` is a part of `text`.
fn first_line(text: &str, body: &str) -> usize {
    let offset = (body.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    text[..offset.min(text.len())].matches('\n').count() + 1
}

/// Returns the place and the reason of the innermost error, because an include wraps the error of its partial.
/// `first_line` returns the line with which the body of a partial, or of the file itself, begins.
fn reason(error: &minijinja::Error, first_line: impl Fn(Option<&str>) -> usize) -> String {
    let mut error = error;
    while let Some(inner) = std::error::Error::source(error).and_then(|inner| inner.downcast_ref()) {
        error = inner;
    }
    let partial = error.name().filter(|name| !name.is_empty());
    let line = error.line().map(|line| line + first_line(partial) - 1);
    let place = match (partial, line) {
        (Some(partial), Some(line)) => format!("`{partial}` line {line}: "),
        (None, Some(line)) => format!("line {line}: "),
        _ => String::new(),
    };
    let what = error
        .detail()
        .map_or_else(|| error.kind().to_string(), |detail| format!("{}: {detail}", error.kind()));
    place + &what.chars().filter(|letter| !letter.is_control()).take(300).collect::<String>()
}

/// Takes bytes up to a limit.
struct Bounded {
    text: Vec<u8>,
    limit: usize,
    refused: Option<usize>,
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = self.text.len() + bytes.len();
        if length > self.limit {
            self.refused = Some(length);
            return Err(io::ErrorKind::WriteZero.into());
        }
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
