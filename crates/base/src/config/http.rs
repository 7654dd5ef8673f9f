//! Settings of the HTTP interface.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::error::Error;
use super::switch::Switch;
use super::table::{FileInHome, Notation, Plain, Seconds};

crate::named_enum! {
    /// The authentication of `/mcp` and the console.
    Auth {
        /// A bearer token for `/mcp`, a login cookie for the console.
        Token = "token",
        /// No authentication; for loopback only.
        None = "none",
    }
}

/// `ADDRESS:PORT`, or `off`.
struct Address;

impl Notation<Option<SocketAddr>> for Address {
    type Written = String;

    fn read(written: String, _home: &Path) -> Result<Option<SocketAddr>, Error> {
        Ok(Switch::address(&written)?.into_option())
    }

    fn show(value: &Option<SocketAddr>) -> String {
        format!("{:?}", value.map_or("off".to_owned(), |address| address.to_string()))
    }
}

super::table::settings! {
    /// The settings of the HTTP interface.
    #[derive(Clone, Debug)]
    pub struct HttpConfig, file File, section "http" {
        /// Address of the console and of MCP over HTTP.
        address: Option<SocketAddr> = Some(SocketAddr::from(([127, 0, 0, 1], 7437))), address as Address;
        /// Authentication of the console and of MCP over HTTP: `token` or `none`.
        auth: Auth = Auth::Token, auth as Plain;
        /// Host names under which a TLS proxy serves the hub.
        behind_tls_proxy: Vec<String> = Vec::new(), behind_tls_proxy as Plain;
        /// PEM file with the certificate chain, with which the hub serves HTTPS itself; relative to the home folder. The hub reads
        /// it again when it changes.
        tls_certificate: Option<PathBuf> = None, tls_certificate as FileInHome;
        /// PEM file with the private key of `tls_certificate`; relative to the home folder.
        tls_key: Option<PathBuf> = None, tls_key as FileInHome;
        /// Host names of the certificate under which the hub is reached, without a port. The first one is the address of the console.
        tls_names: Vec<String> = Vec::new(), tls_names as Plain;
        /// Maximum bytes of one request body.
        body_limit: usize = 16 * 1024 * 1024, body_limit_bytes as Plain;
        /// Maximum number of MCP sessions at once.
        sessions: usize = 1024, sessions as Plain;
        /// Seconds without a request after which a session ends.
        session_idle: Duration = Duration::from_mins(30), session_idle_seconds as Seconds;
    }
    others {
        /// Set if the address is the default, so that another port may be used.
        default_address: bool = true;
    }
}

impl HttpConfig {
    /// Returns the scheme of addresses of the listener.
    pub fn scheme(&self) -> &'static str {
        if self.serves_tls() { "https" } else { "http" }
    }

    /// Returns whether the hub itself serves TLS.
    pub fn serves_tls(&self) -> bool {
        self.tls_certificate.is_some() || self.tls_key.is_some()
    }

    /// Removes what lets other machines in, for a listener that serves this machine alone.
    pub fn restrict_to_this_machine(&mut self) {
        self.behind_tls_proxy.clear();
        self.tls_certificate = None;
        self.tls_key = None;
        self.tls_names.clear();
    }
}
