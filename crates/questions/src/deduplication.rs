//! The fingerprint that identical questions share: the same agent, the same workspace, the same words.

use sha2::{Digest as _, Sha256};

use super::question::{Asker, Draft};
use super::rows;
use adjutant_base::text::hex;

/// Returns the fingerprint of a question. White space counts once, and not at all at the ends; case counts.
pub(super) fn fingerprint(asker: &Asker, draft: &Draft) -> String {
    // Sessions of one agent ask as one; a client without a name is known by its key alone.
    let agent = if asker.client.is_empty() { &asker.key } else { &asker.client };
    let form = rows::fields(&draft.fields);
    let parts = [
        agent.as_str(),
        draft.workspace.trim_end_matches('/'),
        &plain(&draft.title),
        &plain(&draft.message),
        &form,
        draft.level.as_str(),
    ];
    let mut hash = Sha256::new();
    for part in parts {
        // With its length in front no part can end where another one begins.
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hex::encode(&hash.finalize()[..16])
}

fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
