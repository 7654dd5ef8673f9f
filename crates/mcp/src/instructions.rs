//! Instructions to the model: when to use which tool. Every client reads them once, so they are short.

use adjutant_base::config::toolsets::Toolset;

const PROMPTS: &str = "When a message of the user contains a token like `:name` (for example `:research tides`), \
call expand_prompt with that name and the text behind it before you answer, then follow the returned prompt as if the \
user had written it. list_prompts shows which names exist.";

const AGENTS: &str = "list_agents shows who a task can be delegated to. delegate_task hands one over and returns \
the agent's final message; when its answer is a task id instead, call task_wait with that id until the result is there. \
The agent sees nothing of this conversation, so the task has to say everything.";

const QUESTIONS: &str = "triggerPopup asks the user a question and ask_form several at once; use them when a \
decision is the user's. When the answer is `pending`, call await_answer with its ticket, or ask the same again: that \
joins the same question. When the user is away or does not want to be disturbed, do not ask again now.";

const ASSISTANT: &str = "getUser, listEvents and getEvent tell about users and their calendars; times stand with \
their zone and weekday, so take those from the answers. planNotifications decides what a user is told before their \
events and returns it with reasons; calling it again changes nothing unless something else changed.";

const CODEX: &str = "codex starts a Codex session and returns its last message and its threadId; codex-reply goes \
on in it.";

/// Added if results may become ready while no call waits for them.
const UNDELIVERED: &str = "An answer may carry news of what you asked for earlier: the user's answers and the results \
of finished tasks. Each is told once, so use it.";

/// Returns the instructions of a server that has these toolsets.
pub(crate) fn for_toolsets(has: impl Fn(Toolset) -> bool) -> String {
    let mut parts: Vec<&str> = Toolset::ALL
        .iter()
        .copied()
        .filter(|toolset| has(*toolset))
        .map(|toolset| match toolset {
            Toolset::Agents => AGENTS,
            Toolset::Assistant => ASSISTANT,
            Toolset::Codex => CODEX,
            Toolset::Questions => QUESTIONS,
            Toolset::Prompts => PROMPTS,
        })
        .collect();
    if has(Toolset::Agents) || has(Toolset::Questions) {
        parts.push(UNDELIVERED);
    }
    parts.join("\n\n")
}
