//! `adjutant completions SHELL`: the script by which a shell asks this program for words as the user presses Tab, and the
//! answers. They name prompts, agents, tasks, threads and users too, which are read without a hub.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::{Arg, Args, Command, CommandFactory as _};
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use clap_complete::env::Shells;
use clap_complete::{CompleteEnv, Shell};
use serde_json::json;

use super::output::{self, Failure};
use super::{Cli, native_runners};
use adjutant_agents::Viewer;
use adjutant_agents::registry::Registry;
use adjutant_agents::task::Filter;
use adjutant_app::App;
use adjutant_base::config::runners::RunnersConfig;
use adjutant_base::config::{Config, Database, Overrides, Roots};
use adjutant_prompts::{Prompt, Prompts};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The variable by which a script asks for words; its value is the shell.
const VARIABLE: &str = "ADJUTANT_COMPLETE";

/// The part of bash's script that quotes the proposed words, because a project chooses the names of its files: `$(…)` in one
/// would be run with the line. A word with a control character is left out, because no quotes of bash hold it everywhere.
const QUOTE_WORDS: &str = r#"    local index
    for index in "${!COMPREPLY[@]}"; do
        if [[ ${COMPREPLY[index]} == *[[:cntrl:]]* ]]; then
            unset "COMPREPLY[index]"
        elif [[ ${COMPREPLY[index]} == *[!a-zA-Z0-9._/@%+=:,~-]* ]]; then
            printf -v "COMPREPLY[$index]" %q "${COMPREPLY[index]}"
        fi
    done
"#;

/// Maximum tasks, threads or users that are offered.
const MAX_ROWS: u32 = 200;

/// Timeout of the database: the user waits for an answer with the key still pressed.
const READ_TIMEOUT: Duration = Duration::from_millis(500);

/// Arguments of `adjutant completions`.
#[derive(Debug, Args)]
pub(super) struct CompletionsArgs {
    /// The shell that the script is for
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// The names that an argument takes.
#[derive(Clone, Copy)]
enum Names {
    Prompts,
    /// Those that are files of the user, and not bundled.
    PromptFiles,
    Agents,
    Tasks,
    Threads,
    Users,
}

/// Prints the script.
pub(super) fn run(args: &CompletionsArgs) -> Result<(), Failure> {
    let shell = args.shell.to_string();
    let mut script = Vec::new();
    if let Some(completer) = Shells::builtins().completer(&shell) {
        // The name alone, so that the script works for the program of every installation.
        completer.write_registration(VARIABLE, "adjutant", "adjutant", "adjutant", &mut script)?;
    }
    let mut script = String::from_utf8_lossy(&script).trim().to_owned();
    // Nothing may be written into the line that the user types, also if the program was removed.
    match args.shell {
        Shell::Bash => {
            script = script.replace("-- \"${words[@]}\"", "-- \"${words[@]}\" 2>/dev/null");
            // The last lines of the function: bash puts a proposed word into the line as it is.
            script = script.replacen("    fi\n}\n", &format!("    fi\n{QUOTE_WORDS}}}\n"), 1);
        }
        Shell::Fish => script = script.replace("--current-token))\"", "--current-token) 2>/dev/null)\""),
        // The file of a package is the function that completes for the first time.
        Shell::Zsh => {
            script += "\n[[ $funcstack[1] == _adjutant ]] && _clap_dynamic_completer_adjutant \"$@\"";
        }
        _ => {}
    }
    if output::is_json() {
        return output::json(&json!({"shell": shell, "script": script}));
    }
    output::data(&script)
}

/// Answers a shell that asks for words, and returns whether one did. Nothing is written to stderr.
pub(super) fn answer(arguments: &[OsString]) -> bool {
    let mut words = arguments.iter().skip_while(|word| *word != "--home");
    let home = words.nth(1).map(PathBuf::from);
    let grammar = || {
        let whole = Cli::command();
        // Commands that the help hides are not completed.
        let visible = whole.get_subcommands().filter(|command| !command.is_hide_set()).cloned();
        let command = Command::new("adjutant").args(whole.get_arguments().cloned()).subcommands(visible);
        attach(command.version(VERSION), "", home.as_ref())
    };
    let folder = std::env::current_dir().ok();
    let asked = CompleteEnv::with_factory(grammar).var(VARIABLE).try_complete(arguments, folder.as_deref());
    // An error means that a shell has asked: of an unknown kind, or it does not read the answer.
    asked.unwrap_or(true)
}

/// Adds the names to the arguments of the command at `path`, and of all below it.
fn attach(command: Command, path: &str, home: Option<&PathBuf>) -> Command {
    let add = |argument: Arg| match names_of(path, argument.get_id().as_str()) {
        Some(names) => {
            let home = home.cloned();
            argument.add(ArgValueCandidates::new(move || candidates(names, home.clone())))
        }
        None => argument,
    };
    let below: Vec<String> = command.get_subcommands().map(|below| below.get_name().to_owned()).collect();
    below.into_iter().fold(command.mut_args(add), |command, name| {
        let path = format!("{path} {name}");
        command.mut_subcommand(name, |below| attach(below, path.trim_start(), home))
    })
}

/// Returns the names that the argument `id` of the command at `path` takes; `None` if they cannot be looked up.
fn names_of(path: &str, id: &str) -> Option<Names> {
    match (path.split(' ').next().unwrap_or_default(), id) {
        _ if path.ends_with(" new") || path == "users add" => None,
        ("prompts", "name") if ["prompts path", "prompts edit", "prompts remove"].contains(&path) => {
            Some(Names::PromptFiles)
        }
        ("prompts", "name" | "names") => Some(Names::Prompts),
        ("agents", "name") | ("delegate", "agent") => Some(Names::Agents),
        ("tasks", "id" | "ids") => Some(Names::Tasks),
        ("codex", "thread") => Some(Names::Threads),
        ("users", "id") | (_, "user") => Some(Names::Users),
        _ => None,
    }
}

/// Returns the names with a description; none if they cannot be read.
fn candidates(names: Names, home: Option<PathBuf>) -> Vec<CompletionCandidate> {
    let found = read(names, home).unwrap_or_default().into_iter();
    let candidate = |(name, about): (String, String)| {
        let about = about.lines().next().unwrap_or_default().to_owned();
        CompletionCandidate::new(name).help(Some(about.into()))
    };
    found.map(candidate).collect()
}

fn read(names: Names, home: Option<PathBuf>) -> Option<Vec<(String, String)>> {
    // The roots of a workspace belong to a server without a hub, which has no database.
    let in_files = matches!(names, Names::Prompts | Names::PromptFiles | Names::Agents);
    let roots = if in_files { Roots::Workspace } else { Roots::User };
    let config = Config::load(Overrides { home, ..Overrides::default() }, roots).ok()?;
    match names {
        Names::Prompts | Names::PromptFiles => {
            let found = Prompts::new(&config.prompts).files.load();
            let offered =
                |prompt: &&Arc<Prompt>| matches!(names, Names::Prompts) || prompt.source.file.is_some();
            let prompts = found.prompts.values().filter(offered);
            Some(prompts.map(|prompt| (prompt.name.clone(), prompt.description.clone())).collect())
        }
        Names::Agents => {
            let found = Registry::new(&config.agents).files.load();
            let agents = found.agents.values();
            Some(agents.map(|agent| (agent.name.clone(), agent.description.clone())).collect())
        }
        Names::Tasks | Names::Threads | Names::Users => stored(names, config),
    }
}

/// Reads names from the database, which is not created here.
fn stored(names: Names, config: Config) -> Option<Vec<(String, String)>> {
    if let Database::File(file) = &config.database
        && !file.exists()
    {
        return None;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    let read = async {
        let app = App::new(config, native_runners(&RunnersConfig::default()).ok()?);
        match names {
            Names::Tasks => {
                let page = app.agents.list(&Viewer::User, Filter::default(), None, MAX_ROWS).await.ok()?;
                Some(page.tasks.into_iter().map(|task| (task.id.to_string(), task.text)).collect())
            }
            Names::Threads => app.codex.stored_threads(MAX_ROWS).await.ok(),
            _ => {
                let users = app.assistant.users(None, MAX_ROWS).await.ok()?;
                Some(users.into_iter().map(|user| (user.id.to_string(), user.name)).collect())
            }
        }
    };
    let found = runtime.block_on(async { tokio::time::timeout(READ_TIMEOUT, read).await });
    runtime.shutdown_background();
    found.ok()?
}
