//! A short command of our own, such as `git rev-parse`: bounded in time and output, and without a supervisor.

use std::ffi::OsString;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};

use super::child;

/// How a short command ended.
#[derive(Debug)]
pub(crate) struct Short {
    /// `None` when a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    /// stdout was longer than the limit; the rest is left out.
    pub(crate) cut: bool,
    /// The beginning of stderr.
    pub(crate) stderr: Vec<u8>,
}

/// Bytes of stderr that are kept.
const COMPLAINT: u64 = 4096;

/// Runs `argv` in `folder` with exactly the variables `env`, without input, and returns at most `most` bytes of what
/// it writes. It is killed when it takes longer than `patience`, or when the caller goes away. The error is a
/// sentence fragment.
pub(crate) async fn short(
    argv: &[OsString],
    folder: &Path,
    env: &[(OsString, OsString)],
    most: u64,
    patience: Duration,
) -> Result<Short, String> {
    talk(argv, folder, env, b"", most, patience).await
}

/// The same with `input`, which is written and closed; a program that does not read it is no fault.
pub(crate) async fn talk(
    argv: &[OsString],
    folder: &Path,
    env: &[(OsString, OsString)],
    input: &[u8],
    most: u64,
    patience: Duration,
) -> Result<Short, String> {
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
            tokio::join!(write, read(stdout, most), read(stderr, COMPLAINT));
        let status = child.wait().await.map_err(|error| error.to_string())?;
        Ok(Short { code: status.code(), stdout, cut, stderr })
    };
    tokio::time::timeout(patience, run)
        .await
        .unwrap_or_else(|_| Err(format!("it took longer than {} s", patience.as_secs())))
}

/// Reads to the end and keeps the first `most` bytes; tells whether there were more.
async fn read(stream: Option<impl AsyncRead + Unpin>, most: u64) -> (Vec<u8>, bool) {
    let mut kept = Vec::new();
    let Some(mut stream) = stream else { return (kept, false) };
    let head = (&mut stream).take(most).read_to_end(&mut kept).await;
    let more =
        head.is_ok() && tokio::io::copy(&mut stream, &mut tokio::io::sink()).await.is_ok_and(|n| n > 0);
    (kept, more)
}
