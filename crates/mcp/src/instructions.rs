//! Instructions to the model: when to use which tool. Every client reads them once, so they are short.

use adjutant_base::config::toolsets::Toolset;

const PROMPTS: &str = "When a message of the user contains `:name` (for example `:research databases`), call expand_prompt \
with that name and the text after it before you answer, then follow the returned prompt as if the user had written it. \
list_prompts shows the names.";

const AGENTS: &str = "list_agents shows the agents. delegate_task gives one of them a task and returns its final \
message; if it returns a task_id instead, call task_wait with it until the result is there. An agent sees nothing of this \
conversation, so the task must contain everything that the agent needs.";

const QUESTIONS: &str = "triggerPopup asks the user one question and ask_form several at once; use them when a \
decision is the user's. If the result is `pending`, call await_answer with its ticket, or ask the same again: that joins \
the same question. If the user is away or does not want to be disturbed, do not ask again now.";

const ASSISTANT: &str = "getUser, listEvents and getEvent show users and their calendars; take times, time zones and \
weekdays from the results. planNotifications decides which notifications a user gets before their events, and returns \
them with reasons; calling it again changes nothing unless something else has changed.";

const CODEX: &str = "codex starts a Codex session and returns its last message and its threadId; codex-reply continues \
the session.";

/// Added if results may become ready while no call waits for them.
const UNDELIVERED: &str = "A result may also contain news of earlier calls: answers of the user and results of finished \
tasks. Each comes once, so use it.";

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
