//! Sandbox and network of an attempt, by the settings and the task.

use std::ffi::OsString;
use std::path::Path;

use super::context::{ExecutorContext, TaskRun};
use crate::runner::Runner;
use crate::sandbox::{RunNetwork, RunRoot, SandboxedRun};
use crate::selector::Choice;
use adjutant_host::network_proxy::NetworkProxy;

/// The socket of the proxy, in the folder of the attempt.
const PROXY: &str = "proxy";

/// Returns the network of the task on `runner`.
pub(super) fn network(context: &ExecutorContext, run: &TaskRun<'_>, runner: &Runner) -> RunNetwork {
    let candidates = context.selector.candidates();
    let configured = candidates.iter().find(|candidate| candidate.runner.name() == runner.name());
    context.sandbox.network(run.options.networks(), runner, configured.map_or(&[], |one| &one.hosts))
}

/// Starts the proxy of a run with a list of hosts; its socket is in `scratch`.
pub(super) fn proxy(network: RunNetwork, scratch: &Path) -> Result<Option<NetworkProxy>, String> {
    if !network.is_list() {
        return Ok(None);
    }
    let proxy = NetworkProxy::serve(&scratch.join(PROXY), move |host, port| network.allows(host, port));
    proxy.map(Some).map_err(|error| format!("the proxy of its network cannot be made: {error}"))
}

/// The command line of a run in the sandbox, and the resources that live until the end of the run.
#[derive(Debug)]
pub(super) struct Sandboxed {
    pub(super) argv: Vec<OsString>,
    pub(super) proxy: Option<NetworkProxy>,
    /// Removed when this is dropped.
    _run_root: Option<RunRoot>,
}

/// Returns the command line in the hub's sandbox, and what it needs. The error is a sentence fragment.
pub(super) async fn wrap(
    context: &ExecutorContext,
    run: &TaskRun<'_>,
    choice: &Choice,
    argv: Vec<OsString>,
    env: &[(OsString, OsString)],
    scratch: &Path,
    network: RunNetwork,
) -> Result<Sandboxed, String> {
    let real = |folder: &Path| {
        folder.canonicalize().map_err(|error| format!("`{}` cannot be read: {error}", folder.display()))
    };
    let top = run.state.baseline.iter().map(|baseline| baseline.repository.top.clone());
    let visible = top.chain([run.options.workdir.path().to_owned(), choice.program.clone()]).collect();
    let candidates = context.selector.candidates();
    let mut configured =
        candidates.iter().filter(|candidate| candidate.runner.name() == choice.runner.name());
    let scratch = &real(scratch)?;
    let (has_network, socket) = (network.is_all(), scratch.join(PROXY));
    let proxy = proxy(network, scratch)?;
    let sandboxed = SandboxedRun {
        runner: &choice.runner,
        permission: run.options.permission(),
        workspace: &real(&run.workspace)?,
        scratch,
        visible,
        has_network,
        socket: proxy.is_some().then_some(socket.as_path()),
        writable: configured.next().map_or(&[], |candidate| &candidate.writable),
        env,
    };
    let (argv, run_root) = context.sandbox.wrap(sandboxed, argv).await?;
    Ok(Sandboxed { argv, proxy, _run_root: run_root })
}
