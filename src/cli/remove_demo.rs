//! `adjutant remove-demo`.

use serde_json::json;

use super::Common;
use super::output::{self, Failure};
use super::serve::demo;
use adjutant_base::config::Roots;

/// Removes the rows and files that `serve --demo` added.
pub(super) fn run(common: Common) -> Result<(), Failure> {
    let config = common.config(Roots::User)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let rows = runtime
        .block_on(adjutant_app::remove_demo(config.database))
        .map_err(|error| Failure::new(format!("cannot remove the example: {error}")))?;
    let files = demo::remove_files(&config.home)?;
    let line = match (rows, files) {
        (0, 0) => "there is no example data".to_owned(),
        _ => format!("removed the example data: {rows} rows and {files} files"),
    };
    output::changed(line, &json!({"rows": rows, "files": files}))
}
