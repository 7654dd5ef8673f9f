//! stdin and stdout of a client, without a helper thread where possible.
//!
//! tokio's stdin and stdout hand every read and write to a helper thread, which costs more than the work
//! itself. Clients connect pipes (most) or socket pairs (Node.js), and both can be polled.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::fs::{FileType, OFlags};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::unix::pipe;

/// Capacity of a pipe, so that a large answer needs few writes; Linux allows this to every user.
const PIPE_SIZE: usize = 1024 * 1024;

type Input = Box<dyn AsyncRead + Send + Unpin>;
type Output = Box<dyn AsyncWrite + Send + Unpin>;

/// Opens stdin and stdout. Must be called within a runtime.
pub(in crate::cli) fn open() -> io::Result<(Input, Output)> {
    let (stdin, stdout) = (io::stdin(), io::stdout());
    let input: Input = match kind(stdin.as_fd())? {
        FileType::Fifo => Box::new(pipe::Receiver::from_owned_fd(pipe_end(stdin.as_fd())?)?),
        FileType::Socket => Box::new(socket(stdin.as_fd())?),
        _ => Box::new(tokio::io::stdin()),
    };
    let output: Output = match kind(stdout.as_fd())? {
        FileType::Fifo => Box::new(pipe::Sender::from_owned_fd(pipe_end(stdout.as_fd())?)?),
        FileType::Socket => Box::new(socket(stdout.as_fd())?),
        _ => Box::new(tokio::io::stdout()),
    };
    Ok((input, output))
}

/// Makes stdin and stdout block again: a shell may share them with the command that runs next.
pub(super) fn close() {
    for stream in [io::stdin().as_fd(), io::stdout().as_fd()] {
        // A closed stream needs no flags.
        if let Ok(flags) = rustix::fs::fcntl_getfl(stream) {
            let _ = rustix::fs::fcntl_setfl(stream, flags - OFlags::NONBLOCK);
        }
    }
}

fn kind(stream: BorrowedFd<'_>) -> io::Result<FileType> {
    Ok(FileType::from_raw_mode(rustix::fs::fstat(stream)?.st_mode))
}

fn pipe_end(stream: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    // A smaller pipe works as well, only slower.
    let _ = rustix::pipe::fcntl_setpipe_size(stream, PIPE_SIZE);
    stream.try_clone_to_owned()
}

fn socket(stream: BorrowedFd<'_>) -> io::Result<tokio::net::UnixStream> {
    let socket = UnixStream::from(stream.try_clone_to_owned()?);
    socket.set_nonblocking(true)?;
    tokio::net::UnixStream::from_std(socket)
}
