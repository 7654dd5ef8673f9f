//! Colours and weights. Every mark is also a word or a sign, because colours may be missing.

use ratatui::style::{Color, Modifier, Style};

/// Colours of agents that are distinct on dark and on light backgrounds.
const AGENTS: [u8; 12] = [33, 37, 64, 97, 130, 125, 166, 28, 61, 31, 136, 133];

/// The style of a view.
#[derive(Clone, Copy, Debug)]
pub struct Theme {
    /// False with `NO_COLOR`, or without a terminal.
    pub colour: bool,
}

impl Theme {
    fn coloured(self, colour: Color) -> Style {
        if self.colour { Style::new().fg(colour) } else { Style::new() }
    }

    /// Returns the colour of an agent in a workspace, which is always the same.
    pub(super) fn agent(self, client: &str, workspace: &str) -> Style {
        // FNV-1a is stable from run to run. It need not be secure here.
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

    /// The element with the keyboard focus.
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

    /// The head of a hunk in a diff.
    pub(super) fn hunk(self) -> Style {
        self.coloured(Color::Cyan)
    }
}
