//! The hub that runs, and the port that it wants.

use std::io::ErrorKind;
use std::net::TcpListener;
use std::sync::Arc;

use super::check::{Fix, Found};
use super::{Patient, blocking};
use crate::cli::status;
use crate::socket;

/// Looks whether a hub runs, and whether it is of this version.
pub(super) async fn version(patient: Arc<Patient>) -> Found {
    blocking(move || {
        let own = env!("CARGO_PKG_VERSION");
        let home = &patient.config.home;
        match &patient.hub {
            Some(hub) if hub.adjutant == own => Found::ok(format!("adjutant {own} runs (pid {})", hub.pid)),
            Some(hub) => Found::warn(
                format!("adjutant {} runs (pid {}), and this is {own}", hub.adjutant, hub.pid),
                format!(
                    "restart it when nothing runs: `kill {}`; the next client starts the new one",
                    hub.pid
                ),
            ),
            None if socket::vacant(home) => {
                Found::skipped("none runs; the first client starts one").fixed_by([Fix::StartHub])
            }
            None => {
                let holder = socket::holder(home);
                let who = holder.map_or_else(|| "a hub".to_owned(), |holder| format!("a hub ({holder})"));
                let remedy =
                    "kill it, and start another with `adjutant serve --background`; logs/hub.log says more";
                Found::fail(
                    format!("{who} holds this home and does not answer as this version expects"),
                    remedy,
                )
            }
        }
    })
    .await
}

/// Looks whether the hub that runs goes by what `config.toml` says. That it can be read is known here.
pub(super) fn config(patient: &Patient) -> Found {
    let hub =
        patient.hub.as_ref().and_then(|hub| Some((hub.pid, status::config_changed(hub.status.as_ref()?)?)));
    match hub {
        None => Found::ok("config.toml can be read, or there is none"),
        Some((pid, changed)) => Found::warn(
            changed,
            format!("restart the hub when nothing runs: `kill {pid}`; the next client starts the new one"),
        ),
    }
}

/// Looks whether the hub has, or could have, the address that it wants.
pub(super) async fn port(patient: Arc<Patient>) -> Found {
    blocking(move || {
        let http = &patient.config.http;
        let Some(address) = http.address else { return Found::skipped("the HTTP door is switched off") };
        let listening = patient.hub.as_ref().and_then(|hub| hub.status.as_ref()?.http);
        if let (0, Some(listening)) = (address.port(), listening) {
            return Found::ok(format!("the hub listens on {listening}"));
        }
        if listening == Some(address) {
            return Found::ok(format!("the hub listens on {address}"));
        }
        match (TcpListener::bind(address), listening) {
            (Ok(_), None) => Found::ok(format!("{address} is free")),
            (Ok(_), Some(other)) => Found::warn(
                format!("the hub listens on {other}, though {address} is free"),
                "restart the hub, so that clients that were told the usual address find it",
            ),
            (Err(error), listening) if error.kind() == ErrorKind::AddrInUse => {
                let elsewhere =
                    listening.map(|other| format!("; the hub listens on {other}")).unwrap_or_default();
                let detail = format!("another program listens on {address}{elsewhere}");
                let remedy =
                    "end that program, or choose another port: `address` below [http] in config.toml";
                if http.default_address { Found::warn(detail, remedy) } else { Found::fail(detail, remedy) }
            }
            (Err(error), _) => Found::fail(
                format!("nobody can listen on {address}: {error}"),
                "choose another address: `address` below [http] in config.toml",
            ),
        }
    })
    .await
}
