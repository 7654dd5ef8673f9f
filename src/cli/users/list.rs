//! `adjutant users list`.

use std::collections::HashMap;

use super::super::output::{self, Failure};
use adjutant_assistant::json;
use adjutant_assistant::{Assistant, User};
use adjutant_base::text::escape_invisible::escape_line;

/// Users of one page.
const PAGE_SIZE: u32 = 500;

/// Prints all users by their ids.
pub(super) async fn run(assistant: &Assistant) -> Result<(), Failure> {
    let mut users: Vec<User> = Vec::new();
    let mut roles = HashMap::new();
    loop {
        let page = assistant.users(users.last().map(|user| &user.id), PAGE_SIZE).await?;
        if page.is_empty() {
            break;
        }
        roles.extend(assistant.roles(&page).await?);
        users.extend(page);
    }
    let role = |user: &User| roles.get(&user.id).map(|role| role.name());
    if output::is_json() {
        let row = |user: &User| {
            let mut row = json::user(user);
            if let Some(role) = role(user) {
                row["role"] = role.into();
            }
            row
        };
        return output::json(&output::list(users.iter().map(row).collect(), "user_id"));
    }
    let rows = users.iter().map(|user| {
        let name = format!("{} <{}>", escape_line(&user.name), user.email.as_deref().unwrap_or("no mail"));
        let zone = user.preferences.zone.to_string();
        [user.id.to_string(), name, zone, role(user).unwrap_or("—").to_owned()]
    });
    output::table(
        ["ID", "USER", "ZONE", "LOGS IN AS"],
        1,
        &rows.collect::<Vec<_>>(),
        "no users yet; `adjutant users add NAME` adds one",
    )
}
