//! Files of an answer for the client that asked: a path on this machine, and a resource of the hub. Clients of 2024-11-05
//! get none, because their contract has none.

use rmcp::ErrorData;
use rmcp::model::{ContentBlock, ReadResourceResult, Resource, ResourceContents};
use serde_json::{Value, json};

use crate::client_context::ClientContext;
use crate::error;
use crate::protocol_version::Revision;
use adjutant_base::config::toolsets::Toolset;
use adjutant_questions::{Question, StoredFile, Ticket};

/// The beginning of the URIs of files of answers.
const BASE: &str = "adjutant://answers/";

/// The files of an answer, as members of the structured result and as blocks of content.
#[derive(Debug, Default)]
pub(crate) struct GivenFiles {
    pub(super) members: Vec<Value>,
    pub(super) blocks: Vec<ContentBlock>,
}

/// Returns the files of a decided question for its client. Each is on disk when this returns, unless the disk failed.
pub(crate) async fn given(client: &ClientContext, question: &Question, revision: Revision) -> GivenFiles {
    let mut given = GivenFiles::default();
    let files = question.state.outcome().map_or(&[][..], |outcome| &outcome.files);
    if revision == Revision::V2024_11_05 {
        return given;
    }
    for number in 0..files.len() {
        let stored = match client.app.questions.file(&question.ticket, number).await {
            Ok(stored) => stored,
            Err(error) => {
                tracing::warn!(%error, ticket = %question.ticket, "a file of an answer cannot be read");
                continue;
            }
        };
        let uri = uri(&question.ticket, number);
        let mut member = json!({
            "name": stored.info.name, "mimeType": stored.info.media_type, "size": stored.info.size, "uri": uri,
        });
        given.blocks.push(block(&stored, &uri, revision));
        match client.app.answer_file_path(question, stored).await {
            Ok(path) => member["path"] = Value::from(path.to_string_lossy()),
            Err(error) => {
                tracing::warn!(%error, ticket = %question.ticket, "a file of an answer was not written");
            }
        }
        given.members.push(member);
    }
    given
}

/// Returns a link to the resource; 2025-03-26 has no links, so there the resource is in the content.
fn block(stored: &StoredFile, uri: &str, revision: Revision) -> ContentBlock {
    if revision == Revision::V2025_03_26 {
        return ContentBlock::resource(contents(stored, uri));
    }
    let link = Resource::new(uri, stored.info.name.as_str())
        .with_mime_type(stored.info.media_type.as_str())
        .with_size(stored.info.size);
    ContentBlock::resource_link(link)
}

fn contents(stored: &StoredFile, uri: &str) -> ResourceContents {
    let text = stored.bytes().ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let contents = match text.filter(|_| stored.info.media_type.starts_with("text/")) {
        Some(text) => ResourceContents::text(text, uri),
        None => ResourceContents::blob(stored.contents.as_str(), uri),
    };
    contents.with_mime_type(stored.info.media_type.as_str())
}

fn uri(ticket: &Ticket, number: usize) -> String {
    format!("{BASE}{ticket}/{number}")
}

/// Returns whether a URI is one of a file of an answer, for this client.
pub(crate) fn serves(client: &ClientContext, revision: Revision, uri: &str) -> bool {
    revision > Revision::V2024_11_05 && client.has(Toolset::Questions) && uri.starts_with(BASE)
}

/// `resources/read` of a file of an answer to a question of this client.
pub(crate) async fn read(
    client: &ClientContext,
    revision: Revision,
    uri: &str,
) -> Result<ReadResourceResult, ErrorData> {
    let unknown = || error::resource_not_found(revision, uri);
    let (ticket, number) =
        uri.strip_prefix(BASE).and_then(|rest| rest.split_once('/')).ok_or_else(unknown)?;
    let (ticket, number) = Ticket::parse(ticket).zip(number.parse().ok()).ok_or_else(unknown)?;
    let question = client.app.questions.get_as(&client.asker().key, &ticket).await.map_err(|_| unknown())?;
    // An answer that can still be undone is nobody's yet.
    question.state.outcome().ok_or_else(unknown)?;
    let stored = client.app.questions.file(&ticket, number).await.map_err(|_| unknown())?;
    Ok(ReadResourceResult::new(vec![contents(&stored, uri)]))
}
