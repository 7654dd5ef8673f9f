//! `--demo`: example data for a first run.
//!
//! An empty home has only the bundled prompts. The example is a file to edit while the console shows the result. A home with
//! prompts stays unchanged.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use crate::cli::output::Failure;
use adjutant_app::App;
use adjutant_base::config::notification_delivery::Mail;
use adjutant_base::config::{self, Config, env};

const NAME: &str = "standup.md";
const EXAMPLE: &str = include_str!("../../../assets/demo/standup.md");

/// Writes the example prompt into `home`, unless it has a folder of prompts.
pub(super) fn fill(home: &Path) -> io::Result<()> {
    let folder = home.join("prompts");
    match DirBuilder::new().mode(0o700).create(&folder) {
        Ok(()) => std::fs::write(folder.join(NAME), EXAMPLE),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Writes mails into a folder if no mail server is configured, so that the example sends none.
pub(super) fn store_mails(config: &mut Config) {
    let folder = config::spool(&config.home).join("mail");
    config.delivery.mail.get_or_insert(Mail::Folder(folder));
}

/// Adds a user with a week of events, unless there is one already.
pub(super) async fn add_user(app: &App) -> Result<(), Failure> {
    app.assistant.fill_demo(jiff::Timestamp::now()).await.map_err(Failure::from)
}

/// Returns commands to try, one line each.
pub(super) fn suggestions(home: &Path) -> [String; 4] {
    let at = format!("--home {}", env::with_tilde(home));
    [
        format!("  try      adjutant {at} prompts expand research \"how bees sleep\""),
        format!(
            "           adjutant {at} notifications list --user demo, for a planned week; mails go to spool/mail"
        ),
        format!("           edit {} with the console open", home.join("prompts").join(NAME).display()),
        format!(
            "           codex mcp add demo -- adjutant {at} connect, then ask Codex \":research how bees sleep\""
        ),
    ]
}
