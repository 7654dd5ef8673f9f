//! The filters and tests that templates may use. Every text that a filter makes is counted: one template can make
//! a few times what was put in, however it is written.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use minijinja::value::ValueKind;
use minijinja::{Environment, Error, ErrorKind, Value, filters, tests};

/// Bytes that filters may make in one rendering: this number, and the bytes that were put in times [`MAX_GROWTH`].
const FREE_BYTES: usize = 1024 * 1024;
const MAX_GROWTH: usize = 4;

/// The names of the filters and tests.
pub(super) const FILTERS: &[&str] = &[
    "upper",
    "lower",
    "trim",
    "capitalize",
    "replace",
    "join",
    "default",
    "d",
    "length",
    "count",
    "first",
    "last",
];
pub(super) const TESTS: &[&str] = &["defined", "undefined", "none", "string", "number"];

/// Adds them to an environment for one rendering with values of `given` bytes.
pub(super) fn add(environment: &mut Environment<'_>, given: usize) {
    let meter = Meter {
        produced: Arc::default(),
        limit: given.saturating_mul(MAX_GROWTH).saturating_add(FREE_BYTES),
    };
    let change = |environment: &mut Environment<'_>, name: &'static str, change: fn(&str) -> String| {
        let meter = meter.clone();
        environment.add_filter(name, move |value: Value| {
            let text = text(&value)?;
            meter.count(text.len())?;
            Ok::<_, Error>(change(&text))
        });
    };
    change(environment, "upper", str::to_uppercase);
    change(environment, "lower", str::to_lowercase);
    change(environment, "trim", |text| text.trim().to_owned());
    change(environment, "capitalize", capitalized);
    let counted = meter.clone();
    environment.add_filter("replace", move |value: Value, from: Value, to: Value| {
        let (value, from, to) = (text(&value)?, text(&from)?, text(&to)?);
        counted.count(value.len().saturating_add(value.matches(&*from).count().saturating_mul(to.len())))?;
        Ok::<_, Error>(value.replace(&*from, &to))
    });
    environment.add_filter("join", move |values: Value, between: Option<Value>| {
        let between = between.as_ref().map(text).transpose()?.unwrap_or_default();
        let mut joined = String::new();
        for (at, value) in values.try_iter()?.enumerate() {
            let part = text(&value)?;
            meter.count(part.len() + between.len())?;
            joined.push_str(if at > 0 { &between } else { "" });
            joined.push_str(&part);
        }
        Ok::<_, Error>(joined)
    });
    environment.add_filter("default", filters::default);
    environment.add_filter("d", filters::default);
    environment.add_filter("length", filters::length);
    environment.add_filter("count", filters::length);
    environment.add_filter("first", filters::first);
    environment.add_filter("last", filters::last);
    environment.add_test("defined", tests::is_defined);
    environment.add_test("undefined", tests::is_undefined);
    environment.add_test("none", tests::is_none);
    environment.add_test("string", tests::is_string);
    environment.add_test("number", tests::is_number);
}

#[derive(Clone)]
struct Meter {
    produced: Arc<AtomicUsize>,
    limit: usize,
}

impl Meter {
    fn count(&self, bytes: usize) -> Result<(), Error> {
        let before = self.produced.fetch_add(bytes, Ordering::Relaxed);
        if before.saturating_add(bytes) > self.limit {
            return Err(Error::new(ErrorKind::OutOfFuel, "the filters of this template make too much text"));
        }
        Ok(())
    }
}

/// Returns a value as text. Lists are rejected, because they can become more text than memory holds.
fn text(value: &Value) -> Result<Cow<'_, str>, Error> {
    match (value.as_str(), value.kind()) {
        (Some(text), _) => Ok(text.into()),
        (None, ValueKind::Number | ValueKind::Bool) => Ok(value.to_string().into()),
        (None, ValueKind::Undefined) => Err(Error::from(ErrorKind::UndefinedError)),
        (None, kind) => {
            Err(Error::new(ErrorKind::InvalidOperation, format!("a text is needed, not a {kind}")))
        }
    }
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters
        .next()
        .map(|first| first.to_uppercase().chain(letters.flat_map(char::to_lowercase)).collect())
        .unwrap_or_default()
}
