//! `adjutant users list`.

use clap::Args;
use serde_json::json;

use super::super::output::{self, Failure};
use adjutant_assistant::json;
use adjutant_assistant::{Assistant, User};
use adjutant_base::text::escape_invisible::escape_line;

/// Users of one page.
const PAGE_SIZE: u32 = 500;

/// Arguments of `adjutant users list`.
#[derive(Debug, Args)]
pub(in crate::cli) struct ListArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints all users by their ids.
pub(super) async fn run(args: &ListArgs, assistant: &Assistant) -> Result<(), Failure> {
    let mut users: Vec<User> = Vec::new();
    loop {
        let page = assistant.users(users.last().map(|user| &user.id), PAGE_SIZE).await?;
        if page.is_empty() {
            break;
        }
        users.extend(page);
    }
    if args.json {
        return output::json(&json!({"users": users.iter().map(json::user).collect::<Vec<_>>()}));
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
