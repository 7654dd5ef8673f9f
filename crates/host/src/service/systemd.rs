//! systemd's instance for the user: a service, and a socket that starts it.

use std::path::{Path, PathBuf};

use super::{File, MARK, OPTIONS, Setup, text};

pub(super) const SERVICE: &str = "adjutant.service";
const SOCKET: &str = "adjutant.socket";

/// Returns the units below `folder`.
pub(super) fn files(folder: &Path, setup: &Setup) -> Vec<File> {
    let service = File { path: folder.join(SERVICE), text: service(setup) };
    let socket = setup.socket.as_deref().map(|path| File { path: folder.join(SOCKET), text: socket(path) });
    socket.into_iter().chain([service]).collect()
}

fn service(setup: &Setup) -> String {
    let (requires, also) = match setup.socket {
        Some(_) => (format!("Requires={SOCKET}\nAfter={SOCKET}\n"), format!("Also={SOCKET}\n")),
        None => (String::new(), String::new()),
    };
    let home = setup.home.as_deref().map(|home| format!(" --home {}", word(&text(home)))).unwrap_or_default();
    let path = setup.path.as_deref().map(|path| format!("Environment={}\n", quoted(&format!("PATH={path}"))));
    format!(
        "# {MARK}; change it with `systemctl --user edit adjutant`.\n\
         [Unit]\n\
         Description=Adjutant, a local hub for coding agents\n\
         Documentation=man:adjutant(1)\n\
         {requires}\n\
         [Service]\n\
         Type=notify\n\
         ExecStart={program} serve {options}{home}\n\
         {path}\
         Restart=on-failure\n\
         RestartSec=2\n\
         # Runs that may outlive a hub have supervisors of their own, which end the others.\n\
         KillMode=process\n\
         TimeoutStopSec=15\n\
         \n\
         [Install]\n\
         WantedBy=default.target\n\
         {also}",
        program = word(&text(&setup.program)),
        options = OPTIONS.join(" "),
        path = path.unwrap_or_default(),
    )
}

fn socket(path: &Path) -> String {
    format!(
        "# {MARK}; change it with `systemctl --user edit adjutant.socket`.\n\
         [Unit]\n\
         Description=The socket of Adjutant, on which the first client starts it\n\
         Documentation=man:adjutant(1)\n\
         \n\
         [Socket]\n\
         ListenStream={path}\n\
         SocketMode=0600\n\
         DirectoryMode=0700\n\
         RemoveOnStop=yes\n\
         \n\
         [Install]\n\
         WantedBy=sockets.target\n",
        // systemd takes this value whole, with blanks, and replaces only specifiers, which begin with a percent sign.
        path = text(path).replace('%', "%%"),
    )
}

/// Returns a word of a command line, in which systemd replaces variables and specifiers.
fn word(text: &str) -> String {
    quoted(&text.replace('$', "$$"))
}

/// Returns a value in quotes.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%"))
}

/// Returns the commands that enable the units.
pub(super) fn enable_commands(files: &[File], start: bool) -> Vec<Vec<String>> {
    let mut commands = vec![command(&["daemon-reload"], &[]), command(&["enable"], files)];
    commands.extend(start.then(|| command(&["start"], files)));
    commands
}

/// Returns the commands that stop and disable the units.
pub(super) fn disable_commands(files: &[File]) -> Vec<Vec<String>> {
    vec![command(&["disable", "--now"], files)]
}

/// Returns the links that `enable` makes for the targets of the units.
pub(super) fn links(files: &[File]) -> Vec<PathBuf> {
    let wants = ["default.target.wants", "sockets.target.wants"];
    let link = |file: &File, wants| Some(file.path.parent()?.join(wants).join(file.path.file_name()?));
    files.iter().flat_map(|file| wants.iter().filter_map(move |wants| link(file, wants))).collect()
}

fn command(words: &[&str], files: &[File]) -> Vec<String> {
    let units = files.iter().filter_map(|file| Some(file.path.file_name()?.to_string_lossy().into_owned()));
    let words = ["systemctl", "--user"].iter().chain(words).map(|word| (*word).to_owned());
    words.chain(units).collect()
}
