//! Lane of a queued task: the runner that it waits for, and the label of the worker that it needs.
//!
//! A task with a label is in a lane of its own, such as `codex@gpu`. No hub claims from it, because no runner has such a name.
//! So a task for any worker, and for no hub, is in the lane `codex@_`.

/// The sign between runner and label. The name of a runner that a worker may run has only letters, digits, `-` and `_`.
const SIGN: char = '@';

/// The place of the label in the lane of any worker. It is no label.
const ANY_WORKER: &str = "_";

/// Returns the lane of the tasks for a runner that any worker may run, and no hub.
pub(crate) fn of_workers(runner: &str) -> String {
    name(runner, Some(ANY_WORKER))
}

/// Returns the lane of a runner and a label.
pub(crate) fn name(runner: &str, label: Option<&str>) -> String {
    label.map_or_else(|| runner.to_owned(), |label| format!("{runner}{SIGN}{label}"))
}

/// Returns the runner and the label of a lane.
pub fn parts(lane: &str) -> (&str, Option<&str>) {
    let (runner, label) = lane.split_once(SIGN).unwrap_or((lane, ANY_WORKER));
    (runner, Some(label).filter(|label| *label != ANY_WORKER))
}

/// Returns the lane as users see it.
pub(crate) fn shown(lane: &str) -> &str {
    if parts(lane).1.is_none() { parts(lane).0 } else { lane }
}

/// Returns whether a text can be a label: letters, digits and hyphens, because it becomes a part of a subject of NATS.
pub fn is_label(text: &str) -> bool {
    const MAX_BYTES: usize = 40;
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
    (1..=MAX_BYTES).contains(&text.len()) && text.chars().all(is_part) && !text.starts_with('-')
}

#[cfg(test)]
mod tests {
    use super::{is_label, name, of_workers, parts};

    #[test]
    fn a_lane_has_a_runner_and_perhaps_a_label() {
        assert_eq!(parts(&name("codex", Some("gpu"))), ("codex", Some("gpu")));
        assert_eq!(parts(&name("codex", None)), ("codex", None));
        assert_eq!((of_workers("codex").as_str(), parts(&of_workers("codex"))), ("codex@_", ("codex", None)));
        assert!(
            is_label("gpu-a100") && !is_label("") && !is_label("-x") && !is_label("a b") && !is_label("_")
        );
    }
}
