//! Cuts a calendar file into its components without reading them, so that one broken event costs itself alone and can
//! be named by its line.

/// A component of the file, as it stands in it.
#[derive(Debug, PartialEq)]
pub(super) struct Piece<'a> {
    /// The line of its `BEGIN`, counted from one.
    pub(super) line: usize,
    pub(super) kind: Kind,
    pub(super) text: &'a str,
    /// Whether its `END` was found.
    pub(super) ended: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Event,
    Zone,
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Event => "VEVENT",
            Self::Zone => "VTIMEZONE",
        }
    }
}

/// Returns the events and zones of a file in its order. One that is not ended reaches to the next `BEGIN` of its kind
/// or to the end of the calendar: what follows it is not swallowed.
pub(super) fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut found: Vec<Piece<'_>> = Vec::new();
    // Where the open piece starts.
    let mut open: Option<(usize, usize, Kind)> = None;
    let mut at = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let (start, end) = (at, at + line.len());
        at = end;
        let line = line.trim_end();
        let boundary = match line.split_once(':') {
            Some((word, name)) if word.eq_ignore_ascii_case("BEGIN") => Some((true, name.trim())),
            Some((word, name)) if word.eq_ignore_ascii_case("END") => Some((false, name.trim())),
            _ => None,
        };
        let Some((begins, name)) = boundary else { continue };
        let kind = [Kind::Event, Kind::Zone].into_iter().find(|kind| name.eq_ignore_ascii_case(kind.name()));
        let outer = name.eq_ignore_ascii_case("VCALENDAR");
        if let Some((from, line, was)) = open {
            let closes = !begins && kind == Some(was);
            if closes || outer || (begins && kind.is_some()) {
                let text = &text[from..if closes { end } else { start }];
                found.push(Piece { line, kind: was, text, ended: closes });
                open = None;
            }
        }
        if begins && let Some(kind) = kind {
            open = Some((start, number + 1, kind));
        }
    }
    if let Some((from, line, kind)) = open {
        found.push(Piece { line, kind, text: &text[from..], ended: false });
    }
    found
}
