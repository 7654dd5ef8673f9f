//! Recording of an attempt: what the runner got on stdin, and each line that it wrote.

use std::ffi::OsString;

use super::context::{ExecutorContext, TaskRun};
use adjutant_base::config::recorder::RecordedConnection;
use adjutant_host::process;
use adjutant_host::recorder::format::Direction;
use adjutant_host::recorder::{Recording, Subject};

/// Starts the recording of an attempt, with what the runner gets on stdin.
pub(super) fn start(
    context: &ExecutorContext,
    run: &TaskRun<'_>,
    runner: &str,
    argv: &[OsString],
    stdin: Option<&[u8]>,
) -> Recording {
    let words = argv.iter().map(|word| word.to_string_lossy().into_owned());
    let about = format!("{runner}, task {}", run.row.id);
    let recording = context.recorder.recording_of(Subject {
        connection: RecordedConnection::Runner,
        about,
        command: words.collect(),
    });
    if let Some(input) = stdin {
        recording.whole(Direction::C2s, input);
        recording.end(Direction::C2s);
    }
    recording
}

/// Writes a line of the runner into the recording, as it was.
pub(super) fn line(recording: &Recording, line: &process::OutputLine) {
    if line.missed > 0 {
        recording.note(&format!("{} bytes were lost before the next line", line.missed));
    }
    recording.whole(Direction::S2c, line.raw.as_deref().unwrap_or(line.text.as_bytes()));
    if line.cut > 0 {
        recording.note(&format!("{} bytes of the last line were cut", line.cut));
    }
}
