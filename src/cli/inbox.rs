//! `adjutant inbox`: pending questions in a terminal or over lines.

use std::io::{self, BufReader, IsTerminal};
use std::process::ExitCode;

use clap::Args;

use super::Common;
use super::output::{self, Failure};
use adjutant_base::config::env;
use adjutant_terminal::socket::Start;
use adjutant_terminal::tui::{self, Hub, Reader, Theme, ViewError};

/// Arguments of `adjutant inbox`.
#[derive(Debug, Args)]
#[command(after_long_help = LINES)]
pub(super) struct InboxArgs {
    /// Print questions as lines and read answers as lines, for a screen reader or a pipe
    #[arg(long)]
    plain: bool,
    /// Fail instead of starting a hub when none runs
    #[arg(long)]
    no_start: bool,
}

const LINES: &str = "\
In a terminal the Inbox lists pending questions. Enter opens a question, digits choose, Enter sends, Escape goes one \
step back, u undoes an answer, b shows all approvals together, a sets your availability. F1 shows all keys.

Without a terminal on both ends, and with --plain, it prints lines:
  LINES for a screen reader  the first line in a terminal
  QUESTION ID from AGENT in WORKSPACE, TIME left; in a terminal with `number NUMBER` after the ID
    the title, the message with | before each line, options as NUMBER VALUE LABEL, a default answer,
    and how to set the approval passphrase if the question takes it and none is set
  DONE ID OUTCOME        your decision was accepted
  CLOSED ID HOW          it was decided in another channel, or withdrawn; the time to undo that
  WAITS ID WHO           the client that waits for the answer changed
  INBOX STATE            your availability changed, or an answer from here needs a proof
  SECRET ID FIELD        the next line is the value of this field, which the terminal does not show
  REFUSED [ID] REASON    a line was rejected
  LOST REASON            the hub does not answer; the Inbox looks for it until it does
and reads one answer for each line; the beginning of an ID is enough, and in a terminal \
the NUMBER of the question, which no later question gets:
  ID VALUE               the value, number or label of an option; several with commas; yes or no; a text, number or date
  ID =TEXT               the exact text; free text where a question allows it
  ID {\"FIELD\": VALUE}    the answer to a question with several fields
  ID                     the secret fields are asked for, without echo if they are typed
  ID /decline [WHY]      /dismiss      /snooze [MINUTES]      /differently HOW
  ID /note TEXT          a note for your next decision about the question
  ID /file PATH          a file for your next answer to the question; at most 5, each up to 2 MiB
  ID /undo               undoes a decision, while that is possible
  /away [MINUTES]        agents get the answer not to ask; also /do-not-disturb [MINUTES], and /here
It ends with its input, with exit code 0 if every line was accepted, else 1. A question marked HIGH takes the \
approval passphrase, which is read from a terminal and never from a pipe.";

/// Shows the Inbox until the user quits, or until the end of stdin.
pub(super) fn run(args: &InboxArgs, common: Common) -> Result<ExitCode, Failure> {
    if output::is_json() {
        let hint = "`adjutant questions list --json` lists them, `adjutant permissions pending --json` the approvals";
        return Err(Failure::usage("the Inbox shows questions as lines, not as JSON").hint(hint));
    }
    let config = common.hub_config()?;
    let start = if args.no_start { Start::Never } else { Start::IfNeeded };
    let hub = Hub { home: config.home, socket: config.socket, start };
    let terminal = io::stdin().is_terminal() && io::stdout().is_terminal() && !env::is_dumb_terminal();
    if terminal && !args.plain {
        // Before the screen changes: a screen reader says lines, and can say little of a screen that is drawn anew.
        output::note("for a screen reader: `adjutant inbox --plain` prints lines");
        tui::run(&hub, Theme { colour: output::colour(&io::stdout()) })?;
        return Ok(ExitCode::SUCCESS);
    }
    let reader = if io::stdout().is_terminal() { Reader::User } else { Reader::Program };
    let accepted = tui::run_plain(&hub, BufReader::new(io::stdin()), &mut io::stdout(), reader)?;
    Ok(if accepted { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl From<ViewError> for Failure {
    fn from(error: ViewError) -> Self {
        match error {
            ViewError::Hub(error) => error.into(),
            ViewError::Terminal(error) => Self::new(format!("cannot use the terminal: {error}")),
        }
    }
}
