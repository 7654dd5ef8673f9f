//! Which rooms the server of all rooms has: for every client, and for those of a name.
//!
//! `[rooms]` switches a room off for all. `[clients.NAME]` narrows it for clients whose own name begins with NAME; such
//! a name is the client's word, so this spares a model tools that it does not need, and is no bar to anybody.

/// What a server may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Room {
    Agents,
    Assistant,
    Codex,
    Popups,
    Prompts,
}

impl Room {
    pub(crate) const ALL: [Self; 5] =
        [Self::Prompts, Self::Agents, Self::Popups, Self::Assistant, Self::Codex];

    /// The word for it in `config.toml`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Agents => "agents",
            Self::Assistant => "assistant",
            Self::Codex => "codex",
            Self::Popups => "popups",
            Self::Prompts => "prompts",
        }
    }
}

/// The switches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RoomsConfig {
    /// Off for everybody.
    pub(crate) off: Vec<Room>,
    /// The beginning of a client's name in lower case, and the rooms it has; the longest one that fits counts.
    pub(crate) clients: Vec<(String, Vec<Room>)>,
}

impl RoomsConfig {
    /// Whether a client that calls itself `client` has `room`; one without a name has what all have.
    pub(crate) fn has(&self, room: Room, client: &str) -> bool {
        let client = client.to_ascii_lowercase();
        let fits = self.clients.iter().filter(|(name, _)| client.starts_with(name.as_str()));
        let own = fits.max_by_key(|(name, _)| name.len());
        !self.off.contains(&room) && own.is_none_or(|(_, rooms)| rooms.contains(&room))
    }
}

/// `[rooms]`: each is on unless it says `false`.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    prompts: Option<bool>,
    agents: Option<bool>,
    popups: Option<bool>,
    assistant: Option<bool>,
    codex: Option<bool>,
}

impl File {
    fn off(&self) -> Vec<Room> {
        let says = |room: Room| match room {
            Room::Agents => self.agents,
            Room::Assistant => self.assistant,
            Room::Codex => self.codex,
            Room::Popups => self.popups,
            Room::Prompts => self.prompts,
        };
        Room::ALL.into_iter().filter(|room| says(*room) == Some(false)).collect()
    }
}

/// `[clients.NAME]`.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Client {
    rooms: Vec<Room>,
}

/// Puts what the file says together.
pub(super) fn read(rooms: &File, clients: impl IntoIterator<Item = (String, Client)>) -> RoomsConfig {
    let clients = clients.into_iter().map(|(name, client)| (name.to_ascii_lowercase(), client.rooms));
    RoomsConfig { off: rooms.off(), clients: clients.collect() }
}

#[cfg(test)]
mod tests {
    use super::{Room, RoomsConfig};

    #[test]
    fn the_longest_name_that_fits_counts_and_off_is_off() {
        let config = RoomsConfig {
            off: vec![Room::Codex],
            clients: vec![
                ("claude".to_owned(), vec![Room::Prompts]),
                ("claude-code".to_owned(), vec![Room::Popups, Room::Codex]),
            ],
        };
        let rooms = |client: &str| -> Vec<&str> {
            Room::ALL.into_iter().filter(|room| config.has(*room, client)).map(Room::name).collect()
        };
        assert_eq!(rooms("Claude-Code 2"), ["popups"]);
        assert_eq!(rooms("claude-ai"), ["prompts"]);
        assert_eq!(rooms(""), ["prompts", "agents", "popups", "assistant"]);
    }
}
