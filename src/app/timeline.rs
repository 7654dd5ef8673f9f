//! What happened in all rooms, one line each, newest first: what the store keeps, and what clients and prompts did
//! since the hub started, which is kept in memory.

use super::App;
use super::activity::{Entry, What};
use crate::config::rooms::Room;
use crate::store::{Error, Millis, timeline};

/// What a line is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    Room(Room),
    /// Who came and went.
    Clients,
}

impl Of {
    pub(crate) const ALL: [Self; 6] = [
        Self::Room(Room::Prompts),
        Self::Room(Room::Agents),
        Self::Room(Room::Popups),
        Self::Room(Room::Assistant),
        Self::Room(Room::Codex),
        Self::Clients,
    ];

    /// The word for it in an address.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Room(room) => room.name(),
            Self::Clients => "clients",
        }
    }
}

/// One line.
#[derive(Clone, Debug)]
pub(crate) struct Happening {
    pub(crate) at: Millis,
    /// Among those of one instant, the key of pages.
    pub(crate) place: String,
    pub(crate) of: Of,
    /// What it was, in the words of the room's rows.
    pub(crate) kind: String,
    /// What it was about: a task, a question, a notification, a thread, a prompt; empty for none.
    pub(crate) id: String,
    pub(crate) who: String,
    /// What an agent, a client or a person wrote.
    pub(crate) text: String,
}

/// Which lines are wanted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Search {
    /// Stands somewhere in the line, in any case; empty is all.
    pub(crate) text: String,
    /// `None` is all.
    pub(crate) of: Option<Of>,
    /// The last line of the page before: its instant and place.
    pub(crate) before: Option<(Millis, String)>,
}

impl App {
    /// Returns at most `limit` lines, the newest first.
    pub(crate) async fn timeline(&self, search: &Search, limit: u32) -> Result<Vec<Happening>, Error> {
        let kept = match search.of {
            Some(Of::Clients | Of::Room(Room::Prompts)) => Vec::new(),
            Some(Of::Room(_)) | None => {
                let stored = timeline::Search {
                    text: search.text.clone(),
                    room: search.of.map(Of::name).unwrap_or_default().to_owned(),
                    before: search.before.clone(),
                };
                let mut kept = Vec::new();
                for store in &self.stores {
                    kept.extend(timeline::read(store, &stored, limit).await?);
                }
                kept
            }
        };
        let mut lines: Vec<Happening> = kept.into_iter().filter_map(of_row).collect();
        lines.extend(self.activity.all().into_iter().map(of_entry).filter(|line| wanted(line, search)));
        lines.sort_by(|one, other| (other.at, &other.place).cmp(&(one.at, &one.place)));
        lines.truncate(limit as usize);
        Ok(lines)
    }
}

fn of_row(row: timeline::Moment) -> Option<Happening> {
    let room = Room::ALL.into_iter().find(|room| room.name() == row.room)?;
    let timeline::Moment { happened_at, place, kind, id, who, text, .. } = row;
    Some(Happening { at: happened_at, place, of: Of::Room(room), kind, id, who, text })
}

fn of_entry(entry: Entry) -> Happening {
    let (of, kind, id, text) = match entry.what {
        What::Connected => (Of::Clients, "connected", String::new(), String::new()),
        What::Left => (Of::Clients, "left", String::new(), String::new()),
        What::Expanded { prompt, bytes } => {
            (Of::Room(Room::Prompts), "expanded", prompt, format!("{bytes} bytes"))
        }
        What::Refused { prompt, reason } => (Of::Room(Room::Prompts), "refused", prompt, reason),
        What::PromptsChanged => (Of::Room(Room::Prompts), "changed", String::new(), String::new()),
    };
    let at = entry.at.duration_since(std::time::SystemTime::UNIX_EPOCH).unwrap_or_default().as_millis();
    Happening {
        at: Millis::try_from(at).unwrap_or(Millis::MAX),
        place: format!("z{:020}", entry.number),
        of,
        kind: kind.to_owned(),
        id,
        who: entry.who,
        text,
    }
}

fn wanted(line: &Happening, search: &Search) -> bool {
    let text = search.text.to_ascii_lowercase();
    let older = |(at, place): &(Millis, String)| (line.at, &line.place) < (*at, place);
    search.of.is_none_or(|of| of == line.of)
        && search.before.as_ref().is_none_or(older)
        && [&line.kind, &line.id, &line.who, &line.text]
            .iter()
            .any(|part| part.to_ascii_lowercase().contains(&text))
}
