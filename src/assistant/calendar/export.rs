//! Calendar text out: events as they came in, with the reminders that are planned as `VALARM`, so that any calendar
//! reminds even while nothing of ours runs.

/// A calendar to print.
#[derive(Debug)]
pub(crate) struct Sheet<'a> {
    /// What calendar programs call it.
    pub(crate) name: &'a str,
    /// `VEVENT`s as they were read, each with the reminders that go with it.
    pub(crate) events: Vec<(&'a str, Vec<Reminder<'a>>)>,
}

/// A reminder before an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reminder<'a> {
    /// Names it, so that a calendar that is read again changes it instead of adding one.
    pub(crate) id: &'a str,
    /// Minutes from the start of the event; before it they are negative.
    pub(crate) offset_min: i64,
    pub(crate) text: &'a str,
}

/// Prints a calendar. Events keep their text to the letter; alarms that an earlier print put in are not put in twice.
pub(crate) fn print(sheet: &Sheet<'_>) -> String {
    let mut out = String::new();
    for line in ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Adjutant//Assistant//EN", "CALSCALE:GREGORIAN"]
    {
        fold(&mut out, line);
    }
    fold(&mut out, &format!("X-WR-CALNAME:{}", escape(sheet.name)));
    for (raw, reminders) in &sheet.events {
        let end = raw.trim_end().rfind('\n').map_or(0, |at| at + 1);
        for line in raw[..end].lines() {
            out.push_str(line.trim_end_matches('\r'));
            out.push_str("\r\n");
        }
        for reminder in reminders {
            alarm(&mut out, reminder);
        }
        out.push_str("END:VEVENT\r\n");
    }
    fold(&mut out, "END:VCALENDAR");
    out
}

fn alarm(out: &mut String, reminder: &Reminder<'_>) {
    fold(out, "BEGIN:VALARM");
    fold(out, &format!("UID:{}", escape(reminder.id)));
    fold(out, "ACTION:DISPLAY");
    let sign = if reminder.offset_min < 0 { "-" } else { "" };
    fold(out, &format!("TRIGGER:{sign}PT{}M", reminder.offset_min.unsigned_abs()));
    fold(out, &format!("DESCRIPTION:{}", escape(reminder.text)));
    fold(out, "END:VALARM");
}

/// Escapes a text value by RFC 5545 3.3.11. The backslash goes first, or it would escape the escapes.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | ';' | ',' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            // RFC 5545 3.1 has no place for other control characters.
            c if c.is_control() && c != '\t' => {}
            c => out.push(c),
        }
    }
    out
}

/// Writes a content line in lines of at most 75 octets, cut between characters.
pub(crate) fn fold(out: &mut String, line: &str) {
    let mut room = 75;
    for c in line.chars() {
        if c.len_utf8() > room {
            out.push_str("\r\n ");
            room = 74;
        }
        room -= c.len_utf8();
        out.push(c);
    }
    out.push_str("\r\n");
}
