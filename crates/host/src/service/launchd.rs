//! launchd: one property list, which also names the socket that starts the hub.

use std::path::Path;

use super::{File, MARK, OPTIONS, Setup, text};

pub(super) const LABEL: &str = "org.adjutant.hub";

/// Returns the property list below `folder`.
pub(super) fn file(folder: &Path, setup: &Setup) -> File {
    let mut arguments = vec![text(&setup.program), "serve".to_owned()];
    arguments.extend(OPTIONS.map(str::to_owned));
    if let Some(home) = &setup.home {
        arguments.extend(["--home".into(), text(home)]);
    }
    let arguments: String =
        arguments.iter().map(|word| ["\t\t<string>", &escaped(word), "</string>\n"].concat()).collect();
    let path = setup.path.as_deref().map(|path| {
        format!(
            "\t<key>EnvironmentVariables</key>\n\t<dict>\n\t\t<key>PATH</key>\n\t\t<string>{}</string>\n\t</dict>\n",
            escaped(path)
        )
    });
    // 384 is 0600. The name is the one that the hub asks launchd for.
    let socket = setup.socket.as_deref().map(|path| {
        format!(
            "\t<key>Sockets</key>\n\t<dict>\n\t\t<key>hub</key>\n\t\t<dict>\n\t\t\t<key>SockPathName</key>\n\
             \t\t\t<string>{}</string>\n\t\t\t<key>SockPathMode</key>\n\t\t\t<integer>384</integer>\n\t\t</dict>\n\
             \t</dict>\n",
            escaped(&text(path))
        )
    });
    let log = escaped(&text(&setup.log));
    let text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <!-- {MARK}. -->\n\
         <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
         <plist version=\"1.0\">\n\
         <dict>\n\
         \t<key>Label</key>\n\
         \t<string>{LABEL}</string>\n\
         \t<key>ProgramArguments</key>\n\
         \t<array>\n\
         {arguments}\
         \t</array>\n\
         {path}\
         \t<key>RunAtLoad</key>\n\
         \t<true/>\n\
         \t<key>KeepAlive</key>\n\
         \t<dict>\n\
         \t\t<key>SuccessfulExit</key>\n\
         \t\t<false/>\n\
         \t</dict>\n\
         \t<key>AbandonProcessGroup</key>\n\
         \t<true/>\n\
         {socket}\
         \t<key>StandardErrorPath</key>\n\
         \t<string>{log}</string>\n\
         </dict>\n\
         </plist>\n",
        path = path.unwrap_or_default(),
        socket = socket.unwrap_or_default(),
    );
    File { path: folder.join(format!("{LABEL}.plist")), text }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Returns the commands that load the service. launchd runs a loaded service at once, so without `start` it is loaded
/// at the next login.
pub(super) fn enable_commands(files: &[File], start: bool) -> Vec<Vec<String>> {
    let load = |file: &File| command(&["load", "-w"], file);
    if start { files.iter().map(load).collect() } else { Vec::new() }
}

/// Returns the commands that unload the service.
pub(super) fn disable_commands(files: &[File]) -> Vec<Vec<String>> {
    files.iter().map(|file| command(&["unload", "-w"], file)).collect()
}

fn command(words: &[&str], file: &File) -> Vec<String> {
    let words = ["launchctl"].iter().chain(words).map(|word| (*word).to_owned());
    words.chain([text(&file.path)]).collect()
}
