//! Indentation and line ends of a JSON text, and values written in the same style.

use serde_json::Value;

/// Layout of a text.
pub(super) struct Style {
    pub(super) newline: &'static str,
    /// One step of indentation.
    pub(super) unit: String,
    /// The whole text is one line with something in it.
    pub(super) one_line: bool,
    /// No space follows a colon or a comma.
    pub(super) dense: bool,
}

impl Style {
    pub(super) fn of(text: &str) -> Self {
        let indented = text.lines().skip(1).find_map(|line| {
            let rest = line.trim_start_matches([' ', '\t']);
            // The second line of a block comment is aligned, not indented.
            let counts = rest.len() < line.len() && !rest.trim().is_empty() && !rest.starts_with('*');
            counts.then(|| &line[..line.len() - rest.len()])
        });
        let unit = indented.map_or("  ", |indent| if indent.starts_with('\t') { "\t" } else { indent });
        let one_line = !text.trim_end().contains('\n') && text.contains('"');
        Self {
            newline: if text.contains("\r\n") { "\r\n" } else { "\n" },
            unit: unit.to_owned(),
            one_line,
            dense: one_line && text.contains("\":") && !text.contains("\": "),
        }
    }

    /// Renders a member of an object with the indentation `indent`.
    pub(super) fn member(&self, name: &str, value: &Value, indent: &str) -> String {
        let gap = if self.dense { "" } else { " " };
        format!("{}:{gap}{}", Value::from(name), self.value(value, indent))
    }

    /// Renders a value in a line with the indentation `indent`. Arrays of scalars stay in that line.
    pub(super) fn value(&self, value: &Value, indent: &str) -> String {
        let inner = format!("{indent}{}", self.unit);
        let (open, items, close): (_, Vec<String>, _) = match value {
            Value::Object(all) => {
                ('{', all.iter().map(|(name, one)| self.member(name, one, &inner)).collect(), '}')
            }
            Value::Array(all) => ('[', all.iter().map(|one| self.value(one, &inner)).collect(), ']'),
            scalar => return scalar.to_string(),
        };
        let is_flat =
            value.as_array().is_some_and(|all| !all.iter().any(|one| one.is_object() || one.is_array()));
        if self.one_line || is_flat || items.is_empty() {
            return format!("{open}{}{close}", items.join(if self.dense { "," } else { ", " }));
        }
        let items = items.join(&format!(",{}{inner}", self.newline));
        format!("{open}{0}{inner}{items}{0}{indent}{close}", self.newline)
    }
}
