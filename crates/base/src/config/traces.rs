//! Settings of traces.

use std::path::Path;

use super::error::Error;
use super::table::Notation;

/// An address that begins with `http://` or `https://`.
struct Endpoint;

impl Notation<Option<String>> for Endpoint {
    type Written = String;

    fn read(written: String, home: &Path) -> Result<Option<String>, Error> {
        if written.starts_with("http://") || written.starts_with("https://") {
            return Ok(Some(written));
        }
        Err(Error::invalid(
            home,
            format!("traces: `endpoint` is `{written}`; it must begin with http:// or https://"),
        ))
    }

    fn show(value: &Option<String>) -> String {
        format!("{:?}", value.as_deref().unwrap_or_default())
    }
}

super::table::settings! {
    /// Where the traces of calls go, by the protocol of OpenTelemetry. They hold ids, names of tools, agents and runners, and times;
    /// no argument, no text and no path.
    #[derive(Clone, Debug)]
    pub struct TracesConfig, file File, section "traces" {
        /// Address of a collector that takes OTLP over HTTP, such as `http://127.0.0.1:4318`. Without it nothing is collected.
        endpoint: Option<String> = None, endpoint as Endpoint;
    }
    others {}
}
