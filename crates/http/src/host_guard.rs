//! The guard of every route: rejects requests with a foreign `Host` or `Origin`.
//!
//! A page on another site can make a browser send requests to this listener: by DNS rebinding (then `Host` is the
//! other site's name), or plainly across origins (then `Origin` or `Sec-Fetch-Site` shows it). All three are
//! compared as whole strings with what a browser or an MCP client writes for this very listener. Nothing is parsed,
//! so a trailing dot, user information or a look-alike suffix can only fail to match. No CORS header is ever sent.

use std::net::{IpAddr, SocketAddr};

use axum::http::header::{HOST, HeaderName, HeaderValue, ORIGIN};
use axum::http::{HeaderMap, Method, StatusCode, Uri};

/// The status of a rejection, and its message for the caller, with advice.
pub(crate) type Refusal = (StatusCode, &'static str);

const HOST_COUNT: Refusal = (StatusCode::BAD_REQUEST, "exactly one Host header is needed");
const FOREIGN_HOST: Refusal = (
    StatusCode::FORBIDDEN,
    "this Host is not served here; use the address that `adjutant serve` prints, or name the host in `tls_names` or `behind_tls_proxy` of the configuration",
);
const FOREIGN_ORIGIN: Refusal = (StatusCode::FORBIDDEN, "requests from other web origins are refused");

/// The names under which this listener is reached.
#[derive(Debug)]
pub(crate) struct Names {
    hosts: Vec<String>,
    origins: Vec<String>,
}

impl Names {
    /// Takes the bound address, the names that a TLS proxy serves for it, and those of the certificate if the listener itself
    /// serves TLS.
    pub(crate) fn new(address: SocketAddr, proxied: &[String], own: Option<&[String]>) -> Self {
        let mut hosts = Vec::new();
        let mut origins = Vec::new();
        let (ip, port) = (address.ip(), address.port());
        let (scheme, default_port) = if own.is_some() { ("https", 443) } else { ("http", 80) };
        let mut local: Vec<String> = own.unwrap_or_default().to_vec();
        if ip.is_loopback() || ip.is_unspecified() {
            local.extend(["localhost", "127.0.0.1", "[::1]"].map(str::to_owned));
        }
        // With TLS, an address is a name that the certificate may have.
        let is_own = ip.is_loopback() || own.is_some();
        if is_own && !ip.is_unspecified() && !local.contains(&bracketed(ip)) {
            local.push(bracketed(ip));
        }
        for host in local {
            let authority = format!("{host}:{port}");
            origins.push(format!("{scheme}://{authority}"));
            hosts.push(authority);
            if port == default_port {
                origins.push(format!("{scheme}://{host}"));
                hosts.push(host);
            }
        }
        for name in proxied {
            origins.push(format!("https://{name}"));
            hosts.push(name.clone());
        }
        Self { hosts, origins }
    }

    /// Returns the reason to reject a request; `None` if it may pass.
    pub(crate) fn refusal(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Option<Refusal> {
        let mut hosts = headers.get_all(HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else {
            return Some(HOST_COUNT);
        };
        if !is_one_of(host, &self.hosts) {
            return Some(FOREIGN_HOST);
        }
        // A request target in absolute form names a host as well.
        if let Some(authority) = uri.authority()
            && !self.hosts.iter().any(|host| host.eq_ignore_ascii_case(authority.as_str()))
        {
            return Some(FOREIGN_HOST);
        }
        let mut origins = headers.get_all(ORIGIN).iter();
        if let Some(origin) = origins.next()
            && (origins.next().is_some() || !is_one_of(origin, &self.origins))
        {
            return Some(FOREIGN_ORIGIN);
        }
        // A browser names the source of a request even without an Origin (an image, a script). Only following a link to
        // a page may come from another site; it carries no cookie and changes nothing.
        if let Some(site) = headers.get("sec-fetch-site")
            && site != "same-origin"
            && site != "none"
            && !(method == Method::GET
                && headers.get("sec-fetch-mode").is_some_and(|mode| mode == "navigate"))
        {
            return Some(FOREIGN_ORIGIN);
        }
        None
    }
}

fn bracketed(ip: IpAddr) -> String {
    match ip {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    }
}

fn is_one_of(value: &HeaderValue, allowed: &[String]) -> bool {
    allowed.iter().any(|one| one.as_bytes().eq_ignore_ascii_case(value.as_bytes()))
}

/// Adds the headers of every response: no sniffing, no referrer, no embedding elsewhere. A page may have set one
/// itself, because without any referrer a browser sends `Origin: null` with the page's forms.
pub(crate) fn harden(headers: &mut HeaderMap) {
    const ALWAYS: [(HeaderName, HeaderValue); 4] = [
        (HeaderName::from_static("x-content-type-options"), HeaderValue::from_static("nosniff")),
        (HeaderName::from_static("referrer-policy"), HeaderValue::from_static("no-referrer")),
        (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
        (HeaderName::from_static("x-frame-options"), HeaderValue::from_static("DENY")),
    ];
    for (name, value) in ALWAYS {
        headers.entry(name).or_insert(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(address: &str, proxied: &[&str], headers: &[(&str, &str)]) -> Option<Refusal> {
        let proxied: Vec<String> = proxied.iter().map(|name| (*name).to_owned()).collect();
        let names = Names::new(address.parse().unwrap(), &proxied, None);
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(HeaderName::from_bytes(name.as_bytes()).unwrap(), value.parse().unwrap());
        }
        names.refusal(&Method::POST, &Uri::from_static("/mcp"), &map)
    }

    #[test]
    fn a_proxied_listener_answers_its_public_names_only() {
        let address = "192.0.2.7:7437";
        let names = ["hub.example.com"];
        assert_eq!(verdict(address, &names, &[("host", "hub.example.com")]), None);
        let origin = ("origin", "https://hub.example.com");
        assert_eq!(verdict(address, &names, &[("host", "Hub.Example.com"), origin]), None);
        let plain = ("origin", "http://hub.example.com");
        assert_eq!(verdict(address, &names, &[("host", "hub.example.com"), plain]), Some(FOREIGN_ORIGIN));
        for host in ["192.0.2.7:7437", "localhost:7437", "hub.example.com.", "x.hub.example.com"] {
            assert_eq!(verdict(address, &names, &[("host", host)]), Some(FOREIGN_HOST), "{host}");
        }
    }

    #[test]
    fn the_default_port_may_be_left_out() {
        assert_eq!(verdict("127.0.0.1:80", &[], &[("host", "localhost")]), None);
        assert_eq!(verdict("127.0.0.1:81", &[], &[("host", "localhost")]), Some(FOREIGN_HOST));
    }

    #[test]
    fn a_second_loopback_address_has_its_own_name() {
        assert_eq!(verdict("127.0.0.2:7437", &[], &[("host", "127.0.0.2:7437")]), None);
        assert_eq!(verdict("[::1]:7437", &[], &[("host", "[::1]:7437")]), None);
    }

    #[test]
    fn a_listener_with_tls_has_the_names_of_its_certificate_over_https_only() {
        let own = ["hub.example.com".to_owned()];
        let names = Names::new("192.0.2.7:7437".parse().unwrap(), &[], Some(&own));
        assert_eq!(names.hosts, ["hub.example.com:7437", "192.0.2.7:7437"]);
        assert_eq!(names.origins, ["https://hub.example.com:7437", "https://192.0.2.7:7437"]);
        let names = Names::new("0.0.0.0:443".parse().unwrap(), &[], Some(&own));
        assert!(names.hosts.contains(&"hub.example.com".to_owned()), "{names:?}");
        assert!(names.origins.iter().all(|origin| origin.starts_with("https://")), "{names:?}");
        assert!(!names.hosts.iter().any(|host| host.starts_with("0.0.0.0")), "{names:?}");
    }

    proptest::proptest! {
        #[test]
        fn nothing_but_a_listed_name_passes(host in "[a-z0-9.@:\\[\\]-]{0,24}") {
            let listed = ["localhost:7437", "127.0.0.1:7437", "[::1]:7437"].contains(&host.as_str());
            proptest::prop_assert_eq!(verdict("127.0.0.1:7437", &[], &[("host", &host)]).is_none(), listed);
        }
    }
}
