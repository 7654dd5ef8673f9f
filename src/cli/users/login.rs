//! `adjutant users password`, `role` and `lock`: who logs in to the console, and what they may do.

use std::io::{self, BufRead as _, IsTerminal as _, Read as _};

use clap::Args;
use serde_json::json;

use super::super::output::{self, Failure};
use super::super::passphrase::ask;
use super::super::{Common, hub_client, one_of};
use adjutant_assistant::UserId;
use adjutant_assistant::logins::Role;
use adjutant_base::config::Roots;
use adjutant_terminal::socket::Start;
use adjutant_terminal::socket::control::ControlClient;
use adjutant_terminal::socket::control::questions::Secret;

/// Maximum bytes of a password on stdin.
const MAX_PASSWORD_BYTES: u64 = 8 * 1024;

/// The names of roles on the command line.
const ROLES: [(&str, Role); 3] =
    [("user", Role::User), ("operator", Role::Operator), ("viewer", Role::Viewer)];

/// Arguments of `adjutant users password`.
#[derive(Debug, Args)]
pub(in crate::cli) struct PasswordArgs {
    /// The user, as `adjutant users list` shows them
    id: UserId,
    /// What the user may do: `user` answers questions for the user, `operator` does everything, `viewer` reads [default: user]
    #[arg(long, value_name = "ROLE", hide_possible_values = true, value_parser = one_of(ROLES))]
    role: Option<Role>,
}

/// Arguments of `adjutant users role`.
#[derive(Debug, Args)]
pub(in crate::cli) struct RoleArgs {
    /// The user, as `adjutant users list` shows them
    id: UserId,
    /// `user`, `operator` or `viewer`
    #[arg(value_name = "ROLE", hide_possible_values = true, value_parser = one_of(ROLES))]
    role: Role,
}

/// Reads a password and gives the user a login with it.
pub(super) fn set_password(args: &PasswordArgs, common: &Common) -> Result<(), Failure> {
    let mut client = connect(common)?;
    let password = if io::stdin().is_terminal() && io::stderr().is_terminal() {
        let password = ask("Password: ")?;
        if ask("Repeat the password: ")? != password {
            return Err(Failure::new("the passwords differ; nothing was changed")
                .hint(format!("run `adjutant users password {}` again", args.id)));
        }
        password
    } else {
        let mut line = String::new();
        io::stdin().lock().take(MAX_PASSWORD_BYTES).read_line(&mut line)?;
        line.trim_end_matches(['\r', '\n']).to_owned()
    };
    let role = client.set_password(args.id.clone(), Secret(password), args.role)?;
    let line = format!("`{}` logs in at the console with this password, as {}", args.id, role.name());
    output::changed(line, &json!({"id": args.id, "user_id": args.id, "role": role}))
}

/// Changes the role of a login.
pub(super) fn set_role(args: &RoleArgs, common: &Common) -> Result<(), Failure> {
    let role = connect(common)?.set_role(args.id.clone(), args.role)?;
    let line = format!("`{}` has the role {} and logs in again", args.id, role.name());
    output::changed(line, &json!({"id": args.id, "user_id": args.id, "role": role}))
}

/// Takes a login away.
pub(super) fn remove(id: &UserId, common: &Common) -> Result<(), Failure> {
    connect(common)?.remove_login(id.clone())?;
    let line = format!("`{id}` can no longer log in");
    output::changed(line, &json!({"id": id, "user_id": id, "removed": true}))
}

fn connect(common: &Common) -> Result<ControlClient, Failure> {
    let config = common.clone().config(Roots::User)?;
    hub_client::connect(&config, Start::IfNeeded)
}
