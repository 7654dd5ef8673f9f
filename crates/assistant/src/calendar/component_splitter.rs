//! Splits a calendar file into components without reading them, so that a broken event affects no other and can be
//! named by its line.

/// A component of the file, as it is written.
#[derive(Debug, PartialEq)]
pub(super) struct Piece<'a> {
    /// The line of its `BEGIN`, counted from one.
    pub(super) line: usize,
    pub(super) kind: Kind,
    pub(super) name: &'a str,
    pub(super) text: &'a str,
    /// Whether its `END` was found.
    pub(super) ended: bool,
    /// Whether its calendar cancels what it has (`METHOD:CANCEL`, RFC 5546 3.2.5).
    pub(super) cancels: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Event,
    Zone,
    /// A task, a journal entry, or any other component.
    Other,
}

impl Kind {
    fn of(name: &str) -> Self {
        match name {
            name if name.eq_ignore_ascii_case("VEVENT") => Self::Event,
            name if name.eq_ignore_ascii_case("VTIMEZONE") => Self::Zone,
            _ => Self::Other,
        }
    }
}

/// Returns the components of a file in its order. One that is not ended reaches to the next `BEGIN` of an event or a zone
/// or to the end of the calendar: what follows it is not swallowed.
pub(super) fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut found: Vec<Piece<'_>> = Vec::new();
    // Where the open piece starts, its line and its name.
    let mut open: Option<(usize, usize, &str)> = None;
    let (mut at, mut cancels) = (0, false);
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let (start, end) = (at, at + line.len());
        at = end;
        let line = line.trim_end();
        let boundary = match line.split_once(':') {
            Some((boundary, name)) if boundary.eq_ignore_ascii_case("BEGIN") => Some((true, name.trim())),
            Some((boundary, name)) if boundary.eq_ignore_ascii_case("END") => Some((false, name.trim())),
            Some((property, method)) if open.is_none() && property.eq_ignore_ascii_case("METHOD") => {
                cancels = method.trim().eq_ignore_ascii_case("CANCEL");
                None
            }
            _ => None,
        };
        let Some((begins, name)) = boundary else { continue };
        let outer = name.eq_ignore_ascii_case("VCALENDAR");
        if let Some((from, line, was)) = open {
            let closes = !begins && name.eq_ignore_ascii_case(was);
            // A component that is neither an event nor a zone may be a part of the piece, as an alarm is.
            if closes || outer || (begins && Kind::of(name) != Kind::Other) {
                let text = &text[from..if closes { end } else { start }];
                found.push(Piece { line, kind: Kind::of(was), name: was, text, ended: closes, cancels });
                open = None;
            }
        }
        cancels &= !outer;
        if begins && !outer && open.is_none() {
            open = Some((start, number + 1, name));
        }
    }
    if let Some((from, line, name)) = open {
        found.push(Piece { line, kind: Kind::of(name), name, text: &text[from..], ended: false, cancels });
    }
    found
}
