//! Links that install the entry with one click, for editors with such links. The editor shows the command before it runs it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::json;

use super::client::Client;
use super::hub_entry::NAME;
use super::launch::Launch;

/// Characters to escape in a query: all but the unreserved ones of RFC 3986.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Returns the link of an editor; `None` for a client that has none.
pub(crate) fn link(client: Client, launch: &Launch) -> Option<String> {
    let (command, arguments) = (&launch.program, launch.arguments(None));
    match client {
        Client::Cursor => {
            let config = STANDARD.encode(json!({"command": command, "args": arguments}).to_string());
            let config = utf8_percent_encode(&config, ESCAPED);
            Some(format!("cursor://anysphere.cursor-deeplink/mcp/install?name={NAME}&config={config}"))
        }
        Client::VsCode => {
            let server =
                json!({"name": NAME, "type": "stdio", "command": command, "args": arguments}).to_string();
            Some(format!("vscode:mcp/install?{}", utf8_percent_encode(&server, ESCAPED)))
        }
        _ => None,
    }
}
