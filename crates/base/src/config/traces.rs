//! Settings of traces.

use super::table::Plain;

super::table::settings! {
    /// Where the traces of calls go, by the protocol of OpenTelemetry. They hold ids, names of tools, agents and runners, and times;
    /// no argument, no text and no path.
    #[derive(Clone, Debug)]
    pub struct TracesConfig, file File, section "traces" {
        /// Address of a collector that takes OTLP over HTTP, such as `http://127.0.0.1:4318`. Without it there are no traces.
        endpoint: Option<String> = None, endpoint as Plain;
    }
    others {}
}
