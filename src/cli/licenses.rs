//! `adjutant licenses`.

use std::io::Read as _;

use flate2::read::GzDecoder;
use serde_json::json;

use super::output::{self, Failure};

/// The licences of the crates that are linked on Linux x86-64. `scripts/release.d/linked_crates.py` writes the file, and a test
/// compares it with what is linked. Other platforms have theirs in their packages.
const NOTICES: &[u8] =
    include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/packaging/third-party-licenses.txt.gz"));

/// Prints the licences of the parts of this program that others wrote.
pub(super) fn run() -> Result<(), Failure> {
    let mut text = String::new();
    GzDecoder::new(NOTICES).read_to_string(&mut text)?;
    if output::is_json() {
        return output::json(&json!({"text": text}));
    }
    output::data(text.trim_end())
}
