//! `adjutant users list`.

use super::super::output::{self, Failure};
use adjutant_assistant::json;
use adjutant_assistant::{Assistant, User};
use adjutant_base::text::escape_invisible::escape_line;

/// Users of one page.
const PAGE_SIZE: u32 = 500;

/// Prints all users by their ids.
pub(super) async fn run(assistant: &Assistant) -> Result<(), Failure> {
    let mut users: Vec<User> = Vec::new();
    loop {
        let page = assistant.users(users.last().map(|user| &user.id), PAGE_SIZE).await?;
        if page.is_empty() {
            break;
        }
        users.extend(page);
    }
    if output::is_json() {
        return output::json(&output::list(users.iter().map(json::user).collect(), "user_id"));
    }
    let rows = users.iter().map(|user| {
        let name = format!("{} <{}>", escape_line(&user.name), user.email.as_deref().unwrap_or("no mail"));
        [user.id.to_string(), name, user.preferences.zone.to_string()]
    });
    output::table(
        ["ID", "USER", "ZONE"],
        1,
        &rows.collect::<Vec<_>>(),
        "no users yet; `adjutant users add NAME` adds one",
    )
}
