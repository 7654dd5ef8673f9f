//! Turns whose hub went away before their end: their transcripts say so, where they break off.
//!
//! A hub that has the database for itself ends what stands open there before it begins or shows anything. Hubs that
//! share one say every minute which turns they have, and end those of which nobody speaks any more.

use std::time::Duration;

use super::handles::{BEAT, SILENCE};
use super::happened::{Item, ItemState, Kind};
use super::thread::State;
use super::{Codex, Error, now};
use crate::events::Event;
use crate::store::codex::{self as rows, Cut, NewItem};

const WHY: &str = "the hub that ran this turn ended before it did; a reply goes on in the thread";

impl Codex {
    /// Ends the turns that hubs left, now and, where hubs share the database, from time to time. Returns when nothing
    /// more is to come.
    pub(crate) async fn mind_the_left(&self) {
        let shared = self.0.store.is_shared();
        loop {
            let minded = if shared { self.speak_and_look().await } else { self.only_ours().await };
            match minded {
                Ok(()) if !shared => return,
                Ok(()) => {}
                Err(error) => tracing::warn!(%error, "turns that a hub left could not be looked for"),
            }
            tokio::time::sleep(BEAT).await;
        }
    }

    /// Makes sure that every open turn in the store is of this process, where no other one uses that database.
    pub(super) async fn only_ours(&self) -> Result<(), Error> {
        let all = || self.cut_off(i64::MAX);
        if self.0.store.is_shared() { Ok(()) } else { self.0.left.get_or_try_init(all).await.copied() }
    }

    async fn speak_and_look(&self) -> Result<(), Error> {
        let store = &self.0.store;
        let runs = |state| matches!(state, State::Running | State::Asking);
        let live = self.live().clone();
        let threads =
            live.into_iter().filter(|(_, session)| runs(session.thread().state())).map(|(id, _)| id);
        rows::alive(store, threads.collect(), self.0.handles.names(), now()).await?;
        self.cut_off(now() - milliseconds(SILENCE)).await
    }

    /// Ends the turns of which nobody has spoken since the instant `since`.
    async fn cut_off(&self, since: i64) -> Result<(), Error> {
        let silent = rows::silent(&self.0.store, since).await?;
        if silent.is_empty() {
            return Ok(());
        }
        let at = now();
        let cut = silent.into_iter().enumerate().map(|(number, (thread, turn))| {
            let id = format!("cut-off-{at}-{number}");
            let kind = Kind::Error { message: format!("the turn was cut off: {WHY}") };
            let (kind_name, text) = (kind.name().to_owned(), kind.text());
            let item = Item { id: id.clone(), turn: Some(turn.clone()), state: ItemState::Done, kind };
            let body = serde_json::to_string(&item).unwrap_or_default();
            Cut {
                failure: WHY.to_owned(),
                item: NewItem { thread, id, turn, kind: kind_name, text, body, at },
            }
        });
        rows::cut_off(&self.0.store, cut.collect()).await?;
        self.0.events.send(Event::CodexChanged);
        Ok(())
    }
}

fn milliseconds(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}
