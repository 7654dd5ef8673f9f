//! The timeline: one entry for each event of all toolsets, newest first. The store keeps most of them; those of clients
//! and prompts since the start of the hub are kept in memory.

use super::App;
use super::activity_log::{ActivityEntry, ActivityKind};
use super::permissions::PermissionRecord;
use adjutant_base::config::toolsets::Toolset;
use adjutant_permissions::Verdict;
use adjutant_store::{Error, Millis, timeline};

/// Source of an entry, as the filter of the page names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    Toolset(Toolset),
    /// Clients that connected and disconnected.
    Clients,
}

impl EntryKind {
    /// Every kind, in the order of the filter on the page.
    pub const ALL: [Self; 6] = [
        Self::Toolset(Toolset::Prompts),
        Self::Toolset(Toolset::Agents),
        Self::Toolset(Toolset::Questions),
        Self::Toolset(Toolset::Assistant),
        Self::Toolset(Toolset::Codex),
        Self::Clients,
    ];

    /// Returns its name in an address.
    pub fn name(self) -> &'static str {
        match self {
            Self::Toolset(toolset) => toolset.name(),
            Self::Clients => "clients",
        }
    }
}

/// One entry of the timeline.
#[derive(Clone, Debug)]
pub struct TimelineEntry {
    pub at: Millis,
    /// Orders the entries of one instant; with it the key of a page.
    pub place: String,
    pub kind: EntryKind,
    /// The kind of the event, as the rows of the toolset name it.
    pub action: String,
    /// Id of a task, a question, a notification, a thread or a prompt; empty for none.
    pub id: String,
    pub who: String,
    /// Text of an agent, a client or the user.
    pub text: String,
}

/// Filter of the timeline.
#[derive(Clone, Debug, Default)]
pub struct TimelineFilter {
    /// A text that the entry contains, in any case; empty for all.
    pub text: String,
    /// `None` for all.
    pub kind: Option<EntryKind>,
    /// Instant and place of the last entry of the previous page.
    pub before: Option<(Millis, String)>,
}

impl App {
    /// Returns at most `limit` entries, newest first.
    pub async fn timeline(&self, filter: &TimelineFilter, limit: u32) -> Result<Vec<TimelineEntry>, Error> {
        let stored_entries = match filter.kind {
            Some(EntryKind::Clients | EntryKind::Toolset(Toolset::Prompts)) => Vec::new(),
            Some(EntryKind::Toolset(_)) | None => {
                let stored = timeline::Filter {
                    text: filter.text.clone(),
                    toolset: filter.kind.map(EntryKind::name).unwrap_or_default().to_owned(),
                    before: filter.before.clone(),
                };
                let mut stored_entries = Vec::new();
                for store in &self.stores {
                    stored_entries.extend(timeline::read(store, &stored, limit).await?);
                }
                stored_entries
            }
        };
        let mut lines: Vec<TimelineEntry> = stored_entries.into_iter().filter_map(of_row).collect();
        let decided = self.permission_records().await.into_iter().map(of_decision);
        let recent = self.activity.all().into_iter().map(of_entry).chain(decided);
        lines.extend(recent.filter(|line| wanted(line, filter)));
        lines.sort_by(|one, other| (other.at, &other.place).cmp(&(one.at, &one.place)));
        lines.truncate(limit as usize);
        Ok(lines)
    }
}

fn of_row(row: timeline::Entry) -> Option<TimelineEntry> {
    let toolset = Toolset::from_name(&row.toolset)?;
    let timeline::Entry { happened_at, place, kind: action, id, who, text, .. } = row;
    Some(TimelineEntry { at: happened_at, place, kind: EntryKind::Toolset(toolset), action, id, who, text })
}

fn of_entry(entry: ActivityEntry) -> TimelineEntry {
    let (kind, action, id, text) = match entry.kind {
        ActivityKind::Connected => (EntryKind::Clients, "connected", String::new(), String::new()),
        ActivityKind::Disconnected => (EntryKind::Clients, "left", String::new(), String::new()),
        ActivityKind::Expanded { prompt, bytes } => {
            (EntryKind::Toolset(Toolset::Prompts), "expanded", prompt, format!("{bytes} bytes"))
        }
        ActivityKind::Rejected { prompt, reason } => {
            (EntryKind::Toolset(Toolset::Prompts), "refused", prompt, reason)
        }
        ActivityKind::PromptsChanged => {
            (EntryKind::Toolset(Toolset::Prompts), "changed", String::new(), String::new())
        }
    };
    let at = entry.at.duration_since(std::time::SystemTime::UNIX_EPOCH).unwrap_or_default().as_millis();
    TimelineEntry {
        at: Millis::try_from(at).unwrap_or(Millis::MAX),
        place: format!("z{:020}", entry.number),
        kind,
        action: action.to_owned(),
        id,
        who: entry.actor,
        text,
    }
}

fn of_decision(record: PermissionRecord) -> TimelineEntry {
    let action = match record.verdict {
        Verdict::Allow => "allowed",
        Verdict::Ask => "not decided",
        Verdict::Deny => "denied",
    };
    let by = if record.by_user { "by the user".to_owned() } else { record.rules.join(", ") };
    TimelineEntry {
        at: record.at,
        place: format!("y{:020}", record.id),
        kind: EntryKind::Toolset(Toolset::Questions),
        action: action.to_owned(),
        id: String::new(),
        who: record.client,
        text: format!("{} ({by})", record.subject),
    }
}

fn wanted(line: &TimelineEntry, filter: &TimelineFilter) -> bool {
    let text = filter.text.to_ascii_lowercase();
    let older = |(at, place): &(Millis, String)| (line.at, &line.place) < (*at, place);
    filter.kind.is_none_or(|kind| kind == line.kind)
        && filter.before.as_ref().is_none_or(older)
        && [&line.action, &line.id, &line.who, &line.text]
            .iter()
            .any(|part| part.to_ascii_lowercase().contains(&text))
}
