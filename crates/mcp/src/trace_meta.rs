//! The trace of a call, which MCP carries in `_meta`.

use rmcp::model::RequestMetaObject;

use adjutant_base::trace_context::Trace;

/// Returns the trace of a call, if it has one.
pub(crate) fn of(meta: &RequestMetaObject) -> Option<Trace> {
    Trace::read(|name| meta.0.get(name)?.as_str())
}
