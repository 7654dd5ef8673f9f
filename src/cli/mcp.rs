//! `adjutant mcp SERVER`: one server on stdin and stdout in this process, without a hub.
//!
//! A client waits for the first answer while this starts, so nothing is done here that the answer does not
//! need: one thread, no file but `config.toml`.

mod stdio;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use tracing::level_filters::LevelFilter;

use super::Common;
use super::output::Failure;
use crate::app::App;
use crate::app::clients::Transport;
use crate::config::Roots;
use crate::mcp;

/// Threads for what blocks: a stdin and a stdout that cannot be polled, and readers of the disk. Many calls at once
/// wait for one reading of the folder; without a bound each of them would wait on a thread of its own.
const BLOCKING_THREADS: usize = 4;

/// Arguments of `adjutant mcp`.
#[derive(Debug, Args)]
pub(super) struct McpArgs {
    #[command(subcommand)]
    server: Server,
}

impl McpArgs {
    /// Returns the arguments of `mcp prompts`.
    pub(super) fn prompts(prompts_dir: Vec<PathBuf>) -> Self {
        Self { server: Server::Prompts { prompts_dir } }
    }
}

#[derive(Debug, Subcommand)]
enum Server {
    /// Prompt commands: `list_prompts` and `expand_prompt`
    Prompts {
        /// Read prompts from this folder alone; may be repeated, earlier folders win
        #[arg(long, value_name = "DIR")]
        prompts_dir: Vec<PathBuf>,
    },
}

/// Serves until the client closes stdin.
pub(super) fn run(args: McpArgs, common: Common) -> Result<ExitCode, Failure> {
    common.start_log(LevelFilter::WARN)?;
    let (server, roots) = match args.server {
        Server::Prompts { prompts_dir } if prompts_dir.is_empty() => (mcp::Server::Prompts, Roots::Workspace),
        Server::Prompts { prompts_dir } => (mcp::Server::Prompts, Roots::Exactly(prompts_dir)),
    };
    let app = App::new(common.config(roots)?);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(BLOCKING_THREADS)
        .build()?;
    runtime.block_on(async {
        let (input, output) = stdio::open()?;
        mcp::serve_stream(app, server, Transport::Stdio, None, input, output).await;
        Ok::<_, Failure>(())
    })?;
    stdio::close();
    // What is left are threads that wait for a disk or a terminal; nobody waits for them.
    runtime.shutdown_background();
    Ok(ExitCode::SUCCESS)
}
