//! Settings of the HTTP interface.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
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
    /// Returns the origin of the listener at `address`, as programs on this machine reach it: under the first name of the
    /// certificate if the hub serves TLS, because the certificate has no other.
    pub fn origin(&self, address: SocketAddr) -> String {
        let (scheme, default_port) = if self.serves_tls() { ("https", 443) } else { ("http", 80) };
        match self.tls_names.first().filter(|_| self.serves_tls()) {
            Some(name) if address.port() == default_port => format!("{scheme}://{name}"),
            Some(name) => format!("{scheme}://{name}:{}", address.port()),
            None => format!("{scheme}://{}", local(address)),
        }
    }

    /// Returns the origin under which people and other machines reach the hub that listens at `address`: that of the TLS
    /// proxy if there is one.
    pub fn console(&self, address: SocketAddr) -> String {
        match self.behind_tls_proxy.first() {
            Some(name) => format!("https://{name}"),
            None => self.origin(address),
        }
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

/// Returns the address to connect to for a listener at `address`: one of this machine if it listens at all of them.
pub fn local(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_origin_has_the_scheme_and_the_name_that_a_client_needs() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        // The address, the names of the certificate, those of a proxy; the origin of the listener, that of the console.
        let table: [(_, &[&str], &[&str], _, _); 8] = [
            ("127.0.0.1:7437", &[], &[], "http://127.0.0.1:7437", "http://127.0.0.1:7437"),
            ("[::1]:7437", &[], &[], "http://[::1]:7437", "http://[::1]:7437"),
            ("0.0.0.0:80", &[], &["hub.test"], "http://127.0.0.1:80", "https://hub.test"),
            (
                "127.0.0.1:7437",
                &[],
                &["hub.test:8443", "b.test"],
                "http://127.0.0.1:7437",
                "https://hub.test:8443",
            ),
            ("0.0.0.0:7437", &["hub.test", "b.test"], &[], "https://hub.test:7437", "https://hub.test:7437"),
            ("[::]:7437", &["hub.test"], &[], "https://hub.test:7437", "https://hub.test:7437"),
            ("192.0.2.1:443", &["hub.test"], &[], "https://hub.test", "https://hub.test"),
            ("127.0.0.1:7437", &["hub.test"], &["b.test"], "https://hub.test:7437", "https://b.test"),
        ];
        for (address, own, proxied, origin, console) in table {
            let config = HttpConfig {
                tls_certificate: (!own.is_empty()).then(|| "a.pem".into()),
                tls_names: names(own),
                behind_tls_proxy: names(proxied),
                ..HttpConfig::default()
            };
            let address = address.parse().unwrap();
            assert_eq!((&*config.origin(address), &*config.console(address)), (origin, console), "{address}");
        }
    }
}
