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

/// Folder in the home, name and content of each example file.
const FILES: [(&str, &str, &str); 2] = [
    ("prompts", NAME, include_str!("../../../assets/demo/standup.md")),
    ("agents", "translator.yaml", include_str!("../../../assets/demo/translator.yaml")),
];

/// The folder in the home in which the example tasks worked, and its file. It is a repository without a commit.
const SHOP: &str = "corner-shop";
const CART: &str = "export function total(basket: Basket): Money {\n  return sum(basket.items);\n}\n";

/// Writes the example files into `home`, unless their folders exist.
pub(super) fn fill(home: &Path) -> io::Result<()> {
    for (folder, name, content) in FILES {
        let folder = home.join(folder);
        match DirBuilder::new().mode(0o700).create(&folder) {
            Ok(()) => std::fs::write(folder.join(name), content)?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    let git = home.join(SHOP).join(".git");
    if !git.exists() {
        std::fs::create_dir_all(git.join("objects"))?;
        std::fs::create_dir(git.join("refs"))?;
        std::fs::write(git.join("HEAD"), "ref: refs/heads/main\n")?;
        std::fs::write(home.join(SHOP).join("cart.ts"), CART)?;
    }
    Ok(())
}

/// Removes the example files that were not changed, and the folders that are empty then. Returns the number of files.
pub(in crate::cli) fn remove_files(home: &Path) -> io::Result<usize> {
    let examples = FILES.map(|(folder, name, content)| (home.join(folder).join(name), content));
    let shop = home.join(SHOP);
    let mut removed = 0;
    for (file, content) in examples.into_iter().chain([(shop.join("cart.ts"), CART)]) {
        if std::fs::read(&file).is_ok_and(|found| found == content.as_bytes()) {
            std::fs::remove_file(file)?;
            removed += 1;
        }
    }
    let git = shop.join(".git");
    // A repository with objects is in use.
    if std::fs::remove_dir(git.join("objects")).is_ok() {
        std::fs::remove_dir_all(git)?;
        // A folder with other files stays.
        let _ = std::fs::remove_dir(shop);
    }
    Ok(removed)
}

/// Writes mails into a folder if no mail server is configured, so that the example sends none.
pub(super) fn store_mails(config: &mut Config) {
    let folder = config::spool(&config.home).join("mail");
    config.delivery.mail.get_or_insert(Mail::Folder(folder));
}

/// Adds a user with a week of events, and the questions and tasks of a shop, to a home without any.
pub(super) async fn add_rows(app: &App) -> Result<(), Failure> {
    app.assistant.fill_demo(jiff::Timestamp::now()).await.map_err(Failure::from)?;
    let shop = app.config.home.join(SHOP).display().to_string();
    app.fill_demo(&shop).await.map_err(|error| Failure::new(format!("cannot store the example: {error}")))
}

/// Returns commands to try, one line each.
pub(super) fn suggestions(home: &Path) -> [String; 4] {
    let at = format!("--home {}", env::with_tilde(home));
    [
        format!("  try      adjutant {at} prompts expand research \"message queues\""),
        format!(
            "           adjutant {at} notifications list --user demo, for a planned week; mails go to spool/mail"
        ),
        format!("           edit {} with the console open", home.join("prompts").join(NAME).display()),
        format!(
            "           codex mcp add demo -- adjutant {at} connect, then ask Codex \":research message queues\""
        ),
    ]
}
