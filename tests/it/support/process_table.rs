//! The table of processes: survivors of a run, by the mark of its processes and by ancestry.

use std::fmt::Debug;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Instant;

use socket2::{Domain, SockAddr, Socket, Type};

use super::DEADLINE;

/// Every live process with this entry, `NAME=VALUE`, in its environment: the line of its state each.
pub(crate) fn processes_with_variable(variable: &str) -> Vec<String> {
    processes(|process| {
        read(process, "environ").split(|byte| *byte == 0).any(|entry| entry == variable.as_bytes())
    })
}

/// Every live process with this home and this argument.
pub(crate) fn processes_of_home(home: &Path, argument: &str) -> Vec<String> {
    let home = format!("HOME={}", home.display());
    let has =
        |text: Vec<u8>, wanted: &str| text.split(|byte| *byte == 0).any(|part| part == wanted.as_bytes());
    processes(|process| has(read(process, "environ"), &home) && has(read(process, "cmdline"), argument))
}

/// Every live process of any run with this home.
pub(crate) fn runs_of_home(home: &Path) -> Vec<String> {
    let home = format!("HOME={}", home.display());
    processes(|process| {
        let environ = read(process, "environ");
        let has = |wanted: &dyn Fn(&[u8]) -> bool| environ.split(|byte| *byte == 0).any(wanted);
        has(&|entry| entry == home.as_bytes()) && has(&|entry| entry.starts_with(b"ADJUTANT_RUN="))
    })
}

/// Every live process with this word in an argument.
pub(crate) fn processes_with_argument(word: &str) -> Vec<String> {
    processes(|process| String::from_utf8_lossy(&read(process, "cmdline")).contains(word))
}

/// Every descendant of a process, including zombies.
pub(crate) fn descendants(pid: u32) -> Vec<String> {
    let all: Vec<(u32, u32, String)> = processes(|_| true).into_iter().filter_map(parse_stat).collect();
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

/// Pid and parent from a state's line; the name between them may contain anything.
fn parse_stat(line: String) -> Option<(u32, u32, String)> {
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

/// Waits until the list is not empty.
pub(crate) fn wait_until_some(what: &str, look: impl Fn() -> Vec<String>) {
    eventually(what, || if look().is_empty() { Err("there is nothing") } else { Ok(()) });
}

/// Waits until the list is empty.
pub(crate) fn wait_until_none(what: &str, look: impl Fn() -> Vec<String>) {
    eventually(what, || {
        let left = look();
        if left.is_empty() { Ok(()) } else { Err(left) }
    });
}

/// A frozen program with a listening socket: it accepts no connection, and its queue is full.
pub(crate) struct FrozenListener {
    _listener: Socket,
    _queue: Vec<Socket>,
}

impl FrozenListener {
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
