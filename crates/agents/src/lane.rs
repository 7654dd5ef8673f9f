//! Lane of a queued task: the runner that it waits for, and the label of the worker that it needs.
//!
//! A task with a label is in a lane of its own, such as `codex@gpu`. No hub claims from it, because no runner has such a name.

/// The sign between runner and label. The name of a runner that a worker may run has only letters, digits, `-` and `_`.
const SIGN: char = '@';

/// Returns the lane of a runner and a label.
pub(crate) fn name(runner: &str, label: Option<&str>) -> String {
    label.map_or_else(|| runner.to_owned(), |label| format!("{runner}{SIGN}{label}"))
}

/// Returns the runner and the label of a lane.
pub fn parts(lane: &str) -> (&str, Option<&str>) {
    lane.split_once(SIGN).map_or((lane, None), |(runner, label)| (runner, Some(label)))
}

/// Returns whether a text can be a label: letters, digits and hyphens, because it becomes a part of a subject of NATS.
pub fn is_label(text: &str) -> bool {
    const MAX_BYTES: usize = 40;
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
    (1..=MAX_BYTES).contains(&text.len()) && text.chars().all(is_part) && !text.starts_with('-')
}

#[cfg(test)]
mod tests {
    use super::{is_label, name, parts};

    #[test]
    fn a_lane_has_a_runner_and_perhaps_a_label() {
        assert_eq!(parts(&name("codex", Some("gpu"))), ("codex", Some("gpu")));
        assert_eq!(parts(&name("codex", None)), ("codex", None));
        assert!(
            is_label("gpu-a100") && !is_label("") && !is_label("-x") && !is_label("a b") && !is_label("_")
        );
    }
}
