//! Colours and weights. No meaning is carried by colour alone: every mark is also a word or a sign.

use ratatui::style::{Color, Modifier, Style};

/// Colours of agents that can be told apart on dark and on light ground.
const AGENTS: [u8; 12] = [33, 37, 64, 97, 130, 125, 166, 28, 61, 31, 136, 133];

/// How things are drawn.
#[derive(Clone, Copy, Debug)]
pub struct Theme {
    /// False where the person asked for none (`NO_COLOR`), or the terminal has none.
    pub colour: bool,
}

impl Theme {
    fn coloured(self, colour: Color) -> Style {
        if self.colour { Style::new().fg(colour) } else { Style::new() }
    }

    /// The colour of an agent in a workspace: always the same for the same two.
    pub(super) fn agent(self, client: &str, workspace: &str) -> Style {
        // FNV-1a: stable from run to run, and nothing depends on its strength.
        let hash = client
            .bytes()
            .chain([0])
            .chain(workspace.bytes())
            .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            });
        let at = usize::try_from(hash % AGENTS.len() as u64).unwrap_or_default();
        self.coloured(Color::Indexed(AGENTS[at])).add_modifier(Modifier::BOLD)
    }

    pub(super) fn strong() -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    pub(super) fn quiet(self) -> Style {
        if self.colour {
            Style::new().fg(Color::Indexed(244))
        } else {
            Style::new().add_modifier(Modifier::DIM)
        }
    }

    /// What has the keyboard.
    pub(super) fn focus() -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    pub(super) fn alarm(self) -> Style {
        self.coloured(Color::Red).add_modifier(Modifier::BOLD)
    }

    pub(super) fn good(self) -> Style {
        self.coloured(Color::Green).add_modifier(Modifier::BOLD)
    }

    pub(super) fn added(self) -> Style {
        self.coloured(Color::Green)
    }

    pub(super) fn removed(self) -> Style {
        self.coloured(Color::Red)
    }

    /// The place in a file, within a difference.
    pub(super) fn hunk(self) -> Style {
        self.coloured(Color::Cyan)
    }
}
