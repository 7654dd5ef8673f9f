//! `adjutant passphrase`: sets the approval passphrase, which proves that the user answers, or proves it for an hour.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use clap::Args;
use serde_json::json;

use super::output::{self, Failure};
use super::{Common, hub_client};
use adjutant_base::config::Roots;
use adjutant_questions::{MIN_PASSPHRASE_LENGTH, check_passphrase_length};
use adjutant_terminal::socket::Start;
use adjutant_terminal::socket::control::questions::Secret;
use adjutant_terminal::tui::Hidden;

/// Arguments of `adjutant passphrase`.
#[derive(Debug, Args)]
pub(super) struct PassphraseArgs {
    /// Prove with the passphrase that you are at this terminal; that holds for an hour
    #[arg(long)]
    prove: bool,
}

/// Asks for the passphrase on the terminal, and sends it to the hub.
pub(super) fn run(args: &PassphraseArgs, common: Common) -> Result<(), Failure> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        let failure = Failure::new("a passphrase is typed on a terminal, and there is none");
        return Err(failure.hint("run `adjutant passphrase` in a terminal"));
    }
    let config = common.config(Roots::User)?;
    let mut client = hub_client::connect(&config, Start::IfNeeded)?;
    if args.prove {
        if !client.has_passphrase()? {
            return Err(Failure::new("no approval passphrase is set")
                .hint("run `adjutant passphrase`, which sets one"));
        }
        client.prove(Secret(ask("Approval passphrase: ")?))?;
        let line = "commands in this terminal answer questions for an hour";
        return output::changed(line, &json!({"proved": true}));
    }
    let current = client.has_passphrase()?.then(|| ask("Current passphrase: ")).transpose()?;
    if current.is_none() {
        client.prepare_passphrase()?;
    }
    let new = ask(&format!("New passphrase (at least {MIN_PASSPHRASE_LENGTH} characters): "))?;
    check_passphrase_length(&new)
        .map_err(|error| Failure::new(error).hint("run `adjutant passphrase` again"))?;
    if ask("Repeat the passphrase: ")? != new {
        return Err(Failure::new("the passphrases differ; nothing was changed")
            .hint("run `adjutant passphrase` again"));
    }
    client.set_passphrase(current.map(Secret), Secret(new))?;
    let line =
        "the approval passphrase is set; `adjutant passphrase --prove` lets a terminal answer for an hour";
    output::changed(line, &json!({"set": true}))
}

/// Reads a line that the terminal does not show.
pub(super) fn ask(prompt: &str) -> Result<String, Failure> {
    // Hidden before the prompt, because input before that would be visible.
    let hidden = Hidden::new()?;
    write!(io::stderr(), "{prompt}")?;
    io::stderr().flush()?;
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    drop(hidden);
    writeln!(io::stderr())?;
    read?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}
