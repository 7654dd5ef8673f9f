//! The act that each request of the console is. The role of a user includes it or not.

use axum::http::Method;

use adjutant_assistant::logins::Act;

/// Returns the act that a request is. A request that is not listed is the most powerful act.
pub fn act(method: &Method, path: &str) -> Act {
    let section = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    let is_read = method == Method::GET || method == Method::HEAD;
    match (is_read, section) {
        (true, "" | "questions" | "history" | "prompts" | "agents" | "tasks" | "events" | "keys") => {
            Act::Read
        }
        // Whether somebody takes questions concerns all users.
        (false, "questions") if path == "/questions/availability" => Act::Operate,
        (false, "questions" | "prompts") => Act::Answer,
        _ => Act::Operate,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_request_is_the_act_of_the_table() {
        let ticket = "/questions/q00000000000000000000";
        for (method, path, expected) in [
            ("GET", "/", Act::Read),
            ("HEAD", "/", Act::Read),
            ("GET", "/questions", Act::Read),
            ("GET", ticket, Act::Read),
            ("GET", "/questions/approvals", Act::Read),
            ("GET", "/prompts/a/b", Act::Read),
            ("GET", "/agents", Act::Read),
            ("GET", "/tasks/t1", Act::Read),
            ("GET", "/events", Act::Read),
            ("GET", "/keys", Act::Read),
            ("POST", ticket, Act::Answer),
            ("POST", "/questions/approvals", Act::Answer),
            ("POST", "/prompts/greet", Act::Answer),
            ("POST", "/questions/availability", Act::Operate),
            ("POST", "/tasks", Act::Operate),
            ("POST", "/tasks/t1/cancel", Act::Operate),
            ("POST", "/", Act::Operate),
            ("GET", "/codex", Act::Operate),
            ("POST", "/codex/t", Act::Operate),
            ("GET", "/calendar", Act::Operate),
            ("GET", "/timeline", Act::Operate),
            ("GET", "/find", Act::Operate),
            ("GET", "/history", Act::Read),
            ("GET", "/history/questions.csv", Act::Read),
            ("GET", "/settings/access", Act::Operate),
            ("POST", "/settings/access", Act::Operate),
            ("GET", "/settings", Act::Operate),
            ("POST", "/settings/notifications", Act::Operate),
            ("GET", "/feeds/x.ics", Act::Operate),
            ("GET", "//questions", Act::Read),
            ("DELETE", "/codex", Act::Operate),
            ("GET", "/Questions", Act::Operate),
            ("GET", "/%71uestions", Act::Operate),
            ("GET", "/nowhere", Act::Operate),
        ] {
            assert_eq!(act(&method.parse().unwrap(), path), expected, "{method} {path}");
        }
    }
}
