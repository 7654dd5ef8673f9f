//! Redaction of secret answers before they are stored, and of questions in lists. The page of a question shows it
//! whole; a list shows what the settings allow.

use std::borrow::Cow;

use adjutant_base::config::questions::Redact;

use super::Questions;
use super::answer::{Answer, FieldValue};
use super::outcome::State;
use super::question::{Field, Question};

/// The text in place of a redacted one.
const REDACTED: &str = "[redacted]";

/// A function that replaces the secrets of a text.
pub(super) type RedactText = fn(&str) -> Cow<'_, str>;

impl Answer {
    /// Replaces the values of secret fields by [`FieldValue::Secret`]. Returns whether there is any.
    pub(super) fn withhold(&mut self, fields: &[Field]) -> bool {
        let is_secret = |name: &String| fields.iter().any(|field| field.secret && field.name == *name);
        let secrets = self.0.iter_mut().filter(|(name, _)| is_secret(name));
        secrets.map(|(_, given)| *given = FieldValue::Secret).count() > 0
    }
}

impl Questions {
    /// Sets the function that replaces the secrets of a text.
    #[must_use]
    pub fn with_redaction(self, redact_text: RedactText) -> Self {
        Self { redact_text, ..self }
    }

    /// Replaces what the settings leave out of a list.
    pub(super) fn redacted(&self, mut question: Question) -> Question {
        if self.core.settings.redact == Redact::Nothing {
            return question;
        }
        let Question { title, message, workspace, runs_in, .. } = &mut question;
        let mut found = false;
        for text in [title, message, workspace, runs_in] {
            found |= self.redact_secrets(text);
        }
        if let State::Held { outcome, .. } | State::Decided(outcome) = &mut question.state {
            let given = outcome.answer.iter_mut().flat_map(|answer| &mut answer.0);
            for (field, value) in given {
                if let FieldValue::Text(text) | FieldValue::Other(text) = value {
                    // A field with the name of a secret holds one that need not look like it.
                    let is_secret = matches!((self.redact_text)(&format!("{field}=x")), Cow::Owned(_));
                    found |= self.redact_typed(text, is_secret);
                }
            }
            found |= outcome.note.as_mut().is_some_and(|note| self.redact_typed(note, false));
        }
        question.redacted = found;
        question
    }

    fn redact_typed(&self, text: &mut String, is_secret: bool) -> bool {
        if is_secret || self.core.settings.redact == Redact::Answers {
            REDACTED.clone_into(text);
            return true;
        }
        self.redact_secrets(text)
    }

    fn redact_secrets(&self, text: &mut String) -> bool {
        let Cow::Owned(clean) = (self.redact_text)(text) else { return false };
        *text = clean;
        true
    }
}
