//! Chart of the week: a row for each day on the user's clock, quiet hours shaded, events as bars, and a mark for each
//! notification. Gives numbers for the template; the list below the chart says the same in words.

use jiff::Timestamp;
use jiff::civil::{Date, Time};
use minijinja::{Value, context};

use adjutant_assistant::events::EventOccurrence;
use adjutant_assistant::notification::Status;
use adjutant_assistant::{Notification, User};

const LEFT: f64 = 104.0;
const HOUR: f64 = 36.0;
const TOP: f64 = 26.0;
const ROW: f64 = 66.0;
/// Lanes for overlapping events; further events share the last lane.
const LANES: usize = 2;
const LANE: f64 = 20.0;
/// The width of a title, even after a short event.
const TITLE: f64 = 110.0;
/// The approximate width of a letter, and the gap around a title.
const LETTER: f64 = 7.4;
const GAP: f64 = 6.0;

/// The mark of a notification, which is readable without colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// A ring.
    Planned,
    /// A disc.
    Sent,
    /// A cross.
    Failed,
}

impl Shape {
    pub(super) fn of(status: Status) -> Self {
        match status {
            Status::Planned | Status::Sending => Self::Planned,
            Status::Sent | Status::Simulated | Status::Merged => Self::Sent,
            Status::Failed | Status::Dead | Status::Unknown | Status::Cancelled | Status::Superseded => {
                Self::Failed
            }
        }
    }

    /// The class of its label.
    pub(super) fn state(self) -> &'static str {
        match self {
            Self::Planned => "queued",
            Self::Sent => "succeeded",
            Self::Failed => "failed",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Sent => "sent",
            Self::Failed => "failed",
        }
    }
}

/// Draws these days.
pub(super) fn draw(
    days: &[Date],
    event_occurrences: &[EventOccurrence],
    notifications: &[&Notification],
    user: &User,
    now: Timestamp,
) -> Value {
    let zone = &user.preferences.zone;
    let x = |time: Time| LEFT + HOUR * (f64::from(time.hour()) + f64::from(time.minute()) / 60.0);
    let place = |at: Timestamp| {
        let civil = zone.civil(at);
        let row = days.iter().position(|day| *day == civil.date())?;
        Some((row, x(civil.time())))
    };
    let y = |row: usize| TOP + ROW * f64::from(u32::try_from(row).unwrap_or(0));
    let (begin, end) = (LEFT, LEFT + 24.0 * HOUR);

    let rows: Vec<Value> = days
        .iter()
        .enumerate()
        .map(|(row, day)| {
            let weekend = matches!(day.weekday(), jiff::civil::Weekday::Saturday | jiff::civil::Weekday::Sunday);
            let quiet = match user.preferences.quiet {
                None => Vec::new(),
                Some(quiet) if quiet.start < quiet.end => vec![(x(quiet.start), x(quiet.end))],
                Some(quiet) => vec![(begin, x(quiet.end)), (x(quiet.start), end)],
            };
            let quiet: Vec<Value> =
                quiet.into_iter().map(|(from, to)| context! { x => from, width => to - from }).collect();
            let weekday = day.strftime("%a").to_string();
            context! { y => y(row), label => y(row) + 30.0, weekday, date => day.strftime("%-d %b").to_string(), weekend, quiet }
        })
        .collect();

    // The end of the last title in each lane of each day.
    let mut free = vec![[begin; LANES]; days.len()];
    let mut bars = Vec::new();
    for EventOccurrence { event, occurrence } in event_occurrences {
        let Some((row, from)) = place(occurrence.starts_at) else { continue };
        let to = match place(occurrence.ends_at) {
            _ if event.details.when.all_day => end,
            Some((same, to)) if same == row => to,
            _ => end,
        };
        let to = to.max(from + 10.0).min(end);
        let lane = free[row].iter().position(|free| *free <= from).unwrap_or(LANES - 1);
        let title = place_title(&event.title, to - from, end - from);
        free[row][lane] = from + title.end;
        let lane = f64::from(u32::try_from(lane).unwrap_or(0));
        bars.push(context! {
            x => from, y => y(row) + 4.0 + lane * LANE, width => to - from, room => title.end,
            title => &event.title, shown => title.text, at => title.x,
            when => zone.civil(occurrence.starts_at).strftime("%a %H:%M").to_string(),
            status => event.status.name(),
        });
    }
    let marks: Vec<Value> = notifications
        .iter()
        .filter_map(|one| {
            let (row, x) = place(one.due_at)?;
            let shape = Shape::of(one.status);
            let when = zone.civil(one.due_at).strftime("%a %H:%M");
            Some(context! {
                x, y => y(row) + 54.0, shape => shape.name(),
                label => format!("{when} {} by {}: {}", one.status.name(), one.channel.name(), one.wording.subject),
            })
        })
        .collect();
    let height = y(days.len());
    context! {
        width => end + 12.0,
        height,
        left => begin,
        right => end,
        top => TOP,
        row => ROW,
        rows,
        hours => (0..=24).step_by(3).map(|hour| context! {
            x => begin + HOUR * f64::from(hour), label => format!("{hour:02}"),
        }).collect::<Vec<_>>(),
        bars,
        marks,
        now => place(now).map(|(row, x)| context! { x, y => y(row) }),
    }
}

/// The title of a bar, and its place.
struct PlacedTitle {
    text: String,
    x: f64,
    /// The width of bar and title together.
    end: f64,
}

/// Puts a title into its bar of this `width` if it fits, else after it, and cuts it at `max_end`.
fn place_title(title: &str, width: f64, max_end: f64) -> PlacedTitle {
    let long = |text: &str| f64::from(u32::try_from(text.chars().count()).unwrap_or(u32::MAX)) * LETTER;
    let after = width + GAP;
    let (x, end) = if long(title) + 2.0 * GAP <= width || max_end < after + TITLE / 2.0 {
        (GAP, width.max(TITLE).min(max_end))
    } else {
        (after, (after + long(title).min(TITLE)).min(max_end))
    };
    let mut text = title.to_owned();
    while x + long(&text) > end && text.pop().is_some() {}
    if text.len() < title.len() {
        text.pop();
        text = format!("{}…", text.trim_end());
    }
    PlacedTitle { text, x, end }
}

#[cfg(test)]
mod tests {
    use super::place_title;

    #[test]
    fn a_title_is_in_its_bar_or_after_it_and_is_cut_by_whole_letters() {
        let placed = |title: &str, width: f64, max_end: f64| {
            let placed = place_title(title, width, max_end);
            assert!(placed.end <= max_end, "{title}");
            (placed.text, placed.x < width)
        };
        assert_eq!(placed("Budget", 100.0, 900.0), ("Budget".to_owned(), true));
        assert_eq!(placed("Stand-up", 30.0, 900.0), ("Stand-up".to_owned(), false));
        let (cut, inside) = placed("A very long breakfast with everybody who ever was here", 30.0, 900.0);
        assert!(cut.ends_with('…') && cut.starts_with("A very") && !inside, "{cut}");
        let (cut, inside) = placed("Late supper", 30.0, 60.0);
        assert!(cut.ends_with('…') && inside, "at the end of a day nothing follows it: {cut}");
    }
}
