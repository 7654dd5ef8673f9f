//! Orphaned turns: their hub stopped before their end. Each gets an end and an item in its transcript.
//!
//! A hub that has the database for itself ends all open turns before it starts or shows anything. Hubs that share a
//! database send a heartbeat for their turns every minute, and end the turns without a heartbeat.

use std::time::SystemTime;

use super::error::Error;
use super::event::{Item, ItemKind, ItemState};
use adjutant_base::events::{Event, Events};
use adjutant_base::text::timefmt::millis;
use adjutant_store::Store;
use adjutant_store::codex::{self as rows, NewItem, OrphanedTurn};

const WHY: &str = "the hub ended during this turn; a reply continues the thread";

/// Ends the turns without a heartbeat since the instant `since`, in milliseconds since 1970.
pub(super) async fn end(store: &Store, events: &Events, since: i64) -> Result<(), Error> {
    let silent = rows::without_heartbeat(store, since).await?;
    if silent.is_empty() {
        return Ok(());
    }
    let at = millis(SystemTime::now());
    let cut = silent.into_iter().enumerate().map(|(number, (thread, turn))| {
        let id = format!("cut-off-{at}-{number}");
        let kind = ItemKind::Error { message: format!("the turn was cut off: {WHY}") };
        let (kind_name, text) = (kind.name().to_owned(), kind.text());
        let item = Item { id: id.clone(), turn: Some(turn.clone()), state: ItemState::Done, kind };
        let body = serde_json::to_string(&item).unwrap_or_default();
        OrphanedTurn {
            failure: WHY.to_owned(),
            item: NewItem { thread, id, turn, kind: kind_name, text, body, at },
        }
    });
    rows::end_orphaned(store, cut.collect()).await?;
    events.send(Event::CodexChanged);
    Ok(())
}
