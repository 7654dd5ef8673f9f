//! The fingerprint of identical questions: the same client in the same workspace of a machine, the same words.

use sha2::{Digest as _, Sha256};

use super::question::{Asker, Draft};
use super::rows;
use adjutant_base::text::hex;

/// Returns the fingerprint of a question of a machine. White space counts once, and not at all at the ends; case counts.
pub(super) fn fingerprint(machine: &str, asker: &Asker, draft: &Draft) -> String {
    // A new session finds the question of an ended one by the place and the words.
    let place = if asker.place.is_empty() { &asker.key } else { &asker.place };
    let place = format!("{machine}{place}");
    let form = rows::fields(&draft.fields);
    let parts = [
        place.as_str(),
        draft.workspace.trim_end_matches('/'),
        &plain(&draft.title),
        &plain(&draft.message),
        &form,
        draft.level.name(),
    ];
    let mut hash = Sha256::new();
    // A question for all has the fingerprint that a version without addressees computes.
    let addressee = Some(draft.addressee.as_str()).filter(|addressee| !addressee.is_empty());
    for part in parts.into_iter().chain(addressee) {
        // The length before each part keeps two different lists of parts apart.
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hex::encode(&hash.finalize()[..16])
}

fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
