//! Names of the tools of the agents toolset.

pub(crate) const LIST: &str = "list_agents";
pub(crate) const DELEGATE: &str = "delegate_task";
pub(crate) const MANY: &str = "delegate_many";
pub(crate) const GET: &str = "task_get";
pub(crate) const WAIT: &str = "task_wait";
pub(crate) const TASKS: &str = "task_list";
pub(crate) const CANCEL: &str = "task_cancel";
