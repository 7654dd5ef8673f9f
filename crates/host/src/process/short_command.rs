//! Output of short commands, such as `git rev-parse`, with a timeout and a maximum of bytes, without a supervisor.

use std::ffi::OsString;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};

use super::child;

/// The output and exit code of a short command.
#[derive(Debug)]
pub struct CommandOutput {
    /// `None` if a signal ended it.
    pub code: Option<i32>,
    pub stdout: Vec<u8>,
    /// Set if stdout was cut at the limit.
    pub cut: bool,
    /// The beginning of stderr.
    pub stderr: Vec<u8>,
}

/// Maximum bytes of stderr; the rest is left out.
const MAX_STDERR_BYTES: u64 = 4096;

/// Runs `argv` in `folder` with exactly the variables `env` and without input. Returns at most `limit` bytes of its
/// stdout. It is killed after `timeout`, or when the future is dropped. The error is a sentence fragment.
pub async fn output(
    argv: &[OsString],
    folder: &Path,
    env: &[(OsString, OsString)],
    limit: u64,
    timeout: Duration,
) -> Result<CommandOutput, String> {
    output_with_input(argv, folder, env, b"", limit, timeout).await
}

/// Like [`output`] with `input` on stdin. A program that does not read its input is not an error.
pub async fn output_with_input(
    argv: &[OsString],
    folder: &Path,
    env: &[(OsString, OsString)],
    input: &[u8],
    limit: u64,
    timeout: Duration,
) -> Result<CommandOutput, String> {
    let Some((program, arguments)) = argv.split_first() else { return Err("there is no program".to_owned()) };
    let mut command = child(program);
    command
        .args(arguments)
        .current_dir(folder)
        .env_clear()
        .envs(env.iter().map(|(name, value)| (name, value)));
    let stdin = if input.is_empty() { Stdio::null() } else { Stdio::piped() };
    command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut command = tokio::process::Command::from(command);
    command.kill_on_drop(true);
    let mut child = command
        .spawn()
        .map_err(|error| format!("`{}` cannot be started: {error}", Path::new(program).display()))?;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let write = async {
        if let Some(mut stdin) = stdin {
            let _ = stdin.write_all(input).await;
        }
    };
    let run = async {
        let ((), (stdout, cut), (stderr, _)) =
            tokio::join!(write, read(stdout, limit), read(stderr, MAX_STDERR_BYTES));
        let status = child.wait().await.map_err(|error| error.to_string())?;
        Ok(CommandOutput { code: status.code(), stdout, cut, stderr })
    };
    tokio::time::timeout(timeout, run)
        .await
        .unwrap_or_else(|_| Err(format!("it took longer than {} s", timeout.as_secs())))
}

/// Reads to the end. Returns the first `limit` bytes, and whether there were more.
async fn read(stream: Option<impl AsyncRead + Unpin>, limit: u64) -> (Vec<u8>, bool) {
    let mut kept = Vec::new();
    let Some(mut stream) = stream else { return (kept, false) };
    let head = (&mut stream).take(limit).read_to_end(&mut kept).await;
    let more =
        head.is_ok() && tokio::io::copy(&mut stream, &mut tokio::io::sink()).await.is_ok_and(|n| n > 0);
    (kept, more)
}
