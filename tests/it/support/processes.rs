//! The table of processes: who is left of a run, by what every process of it carries, and by whose child it is.

use std::fmt::Debug;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Instant;

use socket2::{Domain, SockAddr, Socket, Type};

use super::DEADLINE;

/// Everything that lives and has this entry, `NAME=VALUE`, in its environment: the line of its state each.
pub(crate) fn carrying(variable: &str) -> Vec<String> {
    processes(|process| {
        read(process, "environ").split(|byte| *byte == 0).any(|entry| entry == variable.as_bytes())
    })
}

/// Everything that lives, belongs to any run and has this home.
pub(crate) fn runs_in(home: &Path) -> Vec<String> {
    let home = format!("HOME={}", home.display());
    processes(|process| {
        let environ = read(process, "environ");
        let has = |wanted: &dyn Fn(&[u8]) -> bool| environ.split(|byte| *byte == 0).any(wanted);
        has(&|entry| entry == home.as_bytes()) && has(&|entry| entry.starts_with(b"ADJUTANT_RUN="))
    })
}

/// Everything that lives and was started with this word as an argument, or in one.
pub(crate) fn with_argument(word: &str) -> Vec<String> {
    processes(|process| String::from_utf8_lossy(&read(process, "cmdline")).contains(word))
}

/// Everything below a process, generation after generation, the dead ones that nobody buried included.
pub(crate) fn below(pid: u32) -> Vec<String> {
    let all: Vec<(u32, u32, String)> = processes(|_| true).into_iter().filter_map(parsed).collect();
    let mut above = vec![pid];
    let mut found = Vec::new();
    while let Some(parent) = above.pop() {
        for (child, _, line) in all.iter().filter(|(_, ppid, _)| *ppid == parent) {
            above.push(*child);
            found.push(line.clone());
        }
    }
    found
}

/// Pid and parent out of a state's line; the name between them may hold anything.
fn parsed(line: String) -> Option<(u32, u32, String)> {
    let pid = line.split(' ').next()?.parse().ok()?;
    let (_, rest) = line.rsplit_once(") ")?;
    let parent = rest.split(' ').nth(1)?.parse().ok()?;
    Some((pid, parent, line))
}

fn processes(wanted: impl Fn(&Path) -> bool) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok).map(|entry| entry.path());
    let numbered = entries.filter(|path| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.parse::<u32>().is_ok())
    });
    let lines = numbered.filter(|path| wanted(path)).map(|path| read(&path, "stat"));
    lines.filter(|line| !line.is_empty()).map(|line| String::from_utf8_lossy(&line).into_owned()).collect()
}

fn read(process: &Path, name: &str) -> Vec<u8> {
    std::fs::read(process.join(name)).unwrap_or_default()
}

/// Waits for a condition with a deadline.
pub(crate) fn eventually<T: Debug>(what: &str, mut look: impl FnMut() -> Result<(), T>) {
    let end = Instant::now() + DEADLINE;
    while let Err(state) = look() {
        assert!(Instant::now() < end, "{what}: {state:?}");
        std::thread::park_timeout(std::time::Duration::from_millis(5));
    }
}

/// Waits until there is something.
pub(crate) fn until_some(what: &str, look: impl Fn() -> Vec<String>) {
    eventually(what, || if look().is_empty() { Err("there is nothing") } else { Ok(()) });
}

/// Waits until there is nothing left.
pub(crate) fn until_none(what: &str, look: impl Fn() -> Vec<String>) {
    eventually(what, || {
        let left = look();
        if left.is_empty() { Ok(()) } else { Err(left) }
    });
}

/// A program that listens and is frozen: it takes nobody, and there is no place left in its queue.
pub(crate) struct Frozen {
    _listener: Socket,
    _queue: Vec<Socket>,
}

impl Frozen {
    pub(crate) fn at(path: &Path) -> Self {
        let socket = || Socket::new(Domain::UNIX, Type::STREAM, None).unwrap();
        let (address, listener) = (SockAddr::unix(path).unwrap(), socket());
        listener.bind(&address).unwrap();
        listener.listen(0).unwrap();
        let mut queue = Vec::new();
        loop {
            let client = socket();
            client.set_nonblocking(true).unwrap();
            match client.connect(&address) {
                Ok(()) => queue.push(client),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return Self { _listener: listener, _queue: queue };
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
}
