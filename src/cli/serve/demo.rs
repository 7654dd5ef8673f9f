//! `--demo`: example data for a first run.
//!
//! The bundled prompts are always there. What an empty home lacks is one of the person's own: a file to edit while
//! the console shows what becomes of it. A home with prompts is left as it is.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use crate::cli::output::Failure;
use adjutant_app::App;
use adjutant_base::config::Config;
use adjutant_base::config::delivery::Mail;

const NAME: &str = "standup.md";
const EXAMPLE: &str = include_str!("../../../assets/demo/standup.md");

/// Puts the example into `home`, unless there is a folder of prompts already.
pub(super) fn fill(home: &Path) -> io::Result<()> {
    let folder = home.join("prompts");
    match DirBuilder::new().mode(0o700).create(&folder) {
        Ok(()) => std::fs::write(folder.join(NAME), EXAMPLE),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Lets mails go into a folder where no mail server is configured: an example writes to nobody.
pub(super) fn keep_mails(config: &mut Config) {
    let folder = config.home.join("spool").join("mail");
    config.delivery.mail.get_or_insert(Mail::Folder(folder));
}

/// Adds somebody with a week of events, where there is nobody yet.
pub(super) async fn people(app: &App) -> Result<(), Failure> {
    app.assistant.fill_demo(jiff::Timestamp::now()).await.map_err(Failure::from)
}

/// Says what to try, one line each.
pub(super) fn suggestions(home: &Path) -> [String; 4] {
    [
        "  try      adjutant prompts expand research \"how bees sleep\"".to_owned(),
        "           adjutant notifications list --user demo, for a week that is planned already; mails go to spool/mail"
            .to_owned(),
        format!("           edit {} with the console open", home.join("prompts").join(NAME).display()),
        "           codex mcp add adjutant -- adjutant connect, then tell Codex \":research how bees sleep\""
            .to_owned(),
    ]
}
