//! `adjutant inbox`: the questions that wait for the person, in a terminal or over lines.

use std::io::{self, BufReader, IsTerminal};
use std::process::ExitCode;

use clap::Args;

use super::Common;
use super::output::{self, Failure};
use crate::config::Roots;
use crate::socket::Start;
use crate::tui::{self, Fault, Hub, Reader, Theme};

/// Arguments of `adjutant inbox`.
#[derive(Debug, Args)]
#[command(after_long_help = LINES)]
pub(super) struct InboxArgs {
    /// Print questions as lines and read answers as lines, as without a terminal
    #[arg(long)]
    plain: bool,
    /// Fail instead of starting a hub when none runs
    #[arg(long)]
    no_start: bool,
}

const LINES: &str = "\
In a terminal the inbox lists what waits; Enter opens a question, digits choose, Enter sends, Escape goes one step \
back, u takes the answer back for a moment, a says that you are away. F1 shows all keys.

Without a terminal on both ends, and with --plain, it speaks lines:
  QUESTION ID from AGENT in WORKSPACE, TIME left
    the title, then the message with | before each line, then the options: NUMBER VALUE LABEL
  DONE ID OUTCOME        what you decided is kept
  GONE ID HOW            it was decided elsewhere, or withdrawn
  WAITS ID WHO           who is there for the answer, when that changed
  DESK STATE             whether agents may ask, when that changed
  REFUSED [ID] REASON    a line that could not be followed
and reads one answer a line; of an ID the beginning is enough:
  ID VALUE               the value, number or label of an option; several with commas; yes or no; a text, number or date
  ID =TEXT               the text word by word; your own words where a question allows them
  ID {\"FIELD\": VALUE}    the answer to a question with several fields
  ID /decline [WHY]      /dismiss      /snooze [MINUTES]      /differently HOW
  ID /note TEXT          a sentence that goes with what you decide next about it
  ID /undo               takes back what you decided here, while it can be
  /away [MINUTES]        agents are told not to ask; also /do-not-disturb [MINUTES], and /here
It ends with its input, once all that came of it is printed: 0 when every line was followed, else 1. A question marked \
HIGH needs the desk passphrase: on a terminal it is asked for and not shown, through a pipe it is not taken.";

/// Shows the inbox until the person quits, or until the lines end.
pub(super) fn run(args: &InboxArgs, common: Common) -> Result<ExitCode, Failure> {
    let config = common.config(Roots::User)?;
    let start = if args.no_start { Start::Never } else { Start::IfNeeded };
    let hub = Hub { home: config.home, socket: config.socket, start };
    if !args.plain && io::stdin().is_terminal() && io::stdout().is_terminal() {
        tui::run(&hub, Theme { colour: output::colour(&io::stdout()) })?;
        return Ok(ExitCode::SUCCESS);
    }
    let reader = if io::stdout().is_terminal() { Reader::Person } else { Reader::Program };
    let followed = tui::run_plain(&hub, BufReader::new(io::stdin()), &mut io::stdout(), reader)?;
    Ok(if followed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Hub(error) => error.into(),
            Fault::Terminal(error) => Self::new(format!("cannot use the terminal: {error}")),
        }
    }
}
