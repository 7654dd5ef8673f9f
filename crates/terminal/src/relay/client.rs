//! The thread that reads the client.

use std::fs::File;
use std::io::BufReader;

use super::envelope;
use super::lines::{self, LineRead};
use super::state::{Link, Shared};
use adjutant_mcp::error::{self, Refusal};
use adjutant_mcp::transport::envelope::id_in_head;
use adjutant_mcp::transport::lines::MAX_LINE;

/// Bytes read at once.
const BUFFER: usize = 64 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Relays the client's lines until its end, and then lets the hub know that no more will come.
pub(super) fn relay(shared: &Shared, input: File) {
    let mut input = BufReader::with_capacity(BUFFER, input);
    let mut line = Vec::new();
    let mut is_first = true;
    loop {
        let read = lines::read(&mut input, &mut line, MAX_LINE);
        // The hub tolerates a byte-order mark there, too. With one, a later line is not a request.
        if std::mem::take(&mut is_first) && line.starts_with(BYTE_ORDER_MARK) {
            line.drain(..BYTE_ORDER_MARK.len());
        }
        let relayed = match read {
            Ok(LineRead::Line) => shared.to_hub(&envelope::messages(&line), &line),
            Ok(LineRead::Unfinished) => {
                line.push(b'\n');
                shared.to_hub(&envelope::messages(&line), &line)
            }
            Ok(LineRead::TooLong) => {
                let reason = format!("the line is longer than {MAX_LINE} bytes");
                let refusal = Refusal { id: id_in_head(&line), error: error::invalid_request(reason) };
                shared.to_client(format!("{}\n", refusal.to_json()).as_bytes())
            }
            Ok(LineRead::End) => break,
            Err(error) => {
                shared.init_logging();
                tracing::warn!(error = %error, "cannot read the client");
                break;
            }
        };
        if relayed.is_err() {
            // The client no longer listens.
            return shared.change(|state| state.link = Link::Over);
        }
    }
    let last_link = shared.change(|state| {
        state.ending = true;
        state.link.clone()
    });
    if let Link::Up(hub) = last_link {
        shared.end_input(&hub);
    }
}
