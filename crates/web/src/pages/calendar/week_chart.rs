//! Chart of the week: a column for each day on the user's clock, quiet hours shaded, events as boxes, and a mark for each
//! notification. Gives numbers for the template; the list next to the chart says the same in words. Places from left to
//! right are percentages of the width, places from top to bottom are pixels.

use jiff::civil::{Date, Time};
use jiff::{SignedDuration, Timestamp};
use minijinja::{Value, context};

use adjutant_assistant::events::EventOccurrence;
use adjutant_assistant::notification::Status;
use adjutant_assistant::{Notification, Occurrence, User, Zone};

const HOUR: f64 = 48.0;
const HEIGHT: f64 = 24.0 * HOUR;
/// The width of the hours at the left.
const LEFT: f64 = 6.0;
/// The part of a day that events fill; the marks of notifications are in the rest.
const EVENTS: f64 = 0.86;
/// The height of a title.
const MIN_HEIGHT: f64 = 19.0;
/// The height of a title with a time below it.
const WITH_TIME: f64 = 34.0;
/// The height of one line of a box, and the most lines of a title.
const LINE: f64 = 16.0;
const MAX_LINES: f64 = 4.0;
/// The length from which an event is above the hours.
const WHOLE_DAY: SignedDuration = SignedDuration::from_hours(24);
/// Maximum events next to each other; further ones share the last lane.
const MAX_LANES: usize = 4;
/// The position, in pixels, at which the chart opens in a week without the present.
const MORNING: f64 = 7.0 * HOUR;

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

    /// Its class, and that of its label.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Sent => "sent",
            Self::Failed => "failed",
        }
    }
}

/// Returns the last day of an occurrence on a clock. A day that it ends with has no part of it.
pub(super) fn last_day(occurrence: &Occurrence, zone: &Zone) -> Date {
    let (start, end) = (zone.civil(occurrence.starts_at), zone.civil(occurrence.ends_at));
    let ends_before = end.time() == Time::midnight() && end.date() > start.date();
    if ends_before { end.date().yesterday().unwrap_or(end.date()) } else { end.date() }
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
    let number = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    let width = (100.0 - LEFT) / number(days.len());
    let x = |day: usize| LEFT + width * number(day);
    let y = |time: Time| HOUR * (f64::from(time.hour()) + f64::from(time.minute()) / 60.0);
    let place = |at: Timestamp| {
        let civil = zone.civil(at);
        Some((days.iter().position(|day| *day == civil.date())?, y(civil.time())))
    };
    let today = place(now);
    let quiet: Vec<Value> = match user.preferences.quiet {
        None => Vec::new(),
        Some(quiet) if quiet.start < quiet.end => vec![(y(quiet.start), y(quiet.end))],
        Some(quiet) => vec![(0.0, y(quiet.end)), (y(quiet.start), HEIGHT)],
    }
    .into_iter()
    .map(|(from, to)| context! { y => from, height => to - from })
    .collect();

    let (mut columns, mut bars, mut first) = (Vec::new(), Vec::new(), MORNING);
    for (day, date) in days.iter().enumerate() {
        let starts_here = |one: &EventOccurrence| zone.civil(one.occurrence.starts_at).date() == *date;
        let is_of_day = |one: &&EventOccurrence| {
            zone.civil(one.occurrence.starts_at).date() <= *date && last_day(&one.occurrence, zone) >= *date
        };
        let (all_day, timed): (Vec<_>, Vec<_>) =
            event_occurrences.iter().filter(is_of_day).partition(|one| {
                let length = one.occurrence.ends_at.duration_since(one.occurrence.starts_at);
                one.event.details.when.all_day || length >= WHOLE_DAY
            });
        let number_of =
            |one: &EventOccurrence| event_occurrences.iter().position(|other| std::ptr::eq(one, other));
        let span = |one: &&EventOccurrence| {
            let start = if starts_here(one) { y(zone.civil(one.occurrence.starts_at).time()) } else { 0.0 };
            let from = start.min(HEIGHT - MIN_HEIGHT);
            let to =
                place(one.occurrence.ends_at).filter(|(same, _)| *same == day).map_or(HEIGHT, |(_, to)| to);
            (from, to.max(from + MIN_HEIGHT))
        };
        let spans: Vec<(f64, f64)> = timed.iter().map(span).collect();
        for ((one @ EventOccurrence { event, occurrence }, (from, to)), (lane, count)) in
            timed.iter().zip(&spans).zip(lanes(&spans))
        {
            first = first.min(*from);
            let lane_width = width * EVENTS / number(count);
            let has_time = starts_here(one) && to - from >= WITH_TIME;
            let lines = ((to - from) / LINE).floor() - f64::from(u8::from(has_time));
            bars.push(context! {
                x => x(day) + lane_width * number(lane), y => from, width => lane_width, height => to - from,
                title => &event.title, number => number_of(one), lines => lines.clamp(1.0, MAX_LINES),
                when => zone.civil(occurrence.starts_at).strftime("%a %H:%M").to_string(),
                clock => has_time.then(|| zone.civil(occurrence.starts_at).strftime("%H:%M").to_string()),
                status => event.status.name(),
            });
        }
        columns.push(context! {
            x => x(day), middle => x(day) + width / 2.0, weekday => date.strftime("%a").to_string(),
            date => date.strftime("%-d %b").to_string(),
            today => today.is_some_and(|(today, _)| today == day),
            all_day => all_day.iter().map(|one| context! { title => &one.event.title, number => number_of(one) }).collect::<Vec<_>>(),
        });
    }
    let marks: Vec<Value> = notifications
        .iter()
        .filter_map(|one| {
            let (day, y) = place(one.due_at)?;
            let shape = Shape::of(one.status);
            let when = zone.civil(one.due_at).strftime("%a %H:%M");
            Some(context! {
                x => x(day) + width, y, shape => shape.name(),
                label => format!("{when} {} by {}: {}", one.status.name(), one.channel.word(), one.wording.subject),
            })
        })
        .collect();
    context! {
        left => LEFT,
        width,
        height => HEIGHT,
        columns,
        quiet,
        hours => (1..24).map(|hour| context! {
            y => HOUR * f64::from(hour), label => format!("{hour:02}:00"),
        }).collect::<Vec<_>>(),
        bars,
        marks,
        now => today.map(|(day, y)| context! { x => x(day), y }),
        // Two hours before now, so that what has just begun is seen too.
        opens_at => today.map_or(first, |(_, y)| y - 2.0 * HOUR).max(0.0),
    }
}

/// Puts spans that overlap next to each other: returns the lane of each, and the number of lanes there. The spans are in the
/// order of their starts.
fn lanes(spans: &[(f64, f64)]) -> Vec<(usize, usize)> {
    // The ends of the lanes of one group of spans that overlap, and the lanes of each group.
    let (mut ends, mut counts) = (Vec::<f64>::new(), Vec::new());
    let mut placed = Vec::new();
    for &(from, to) in spans {
        if ends.iter().all(|end| *end <= from) {
            ends.clear();
            counts.push(0);
        }
        let free = ends.iter().position(|end| *end <= from).unwrap_or(ends.len());
        let lane = free.min(MAX_LANES - 1);
        match ends.get_mut(lane) {
            Some(end) => *end = end.max(to),
            None => ends.push(to),
        }
        let group = counts.len() - 1;
        counts[group] = ends.len();
        placed.push((lane, group));
    }
    placed.into_iter().map(|(lane, group)| (lane, counts[group])).collect()
}

#[cfg(test)]
mod tests {
    use super::lanes;

    #[test]
    fn events_that_overlap_are_next_to_each_other() {
        assert_eq!(lanes(&[(0.0, 5.0), (5.0, 9.0)]), [(0, 1), (0, 1)], "one after the other");
        assert_eq!(
            lanes(&[(0.0, 5.0), (2.0, 4.0), (4.0, 9.0), (9.0, 10.0)]),
            [(0, 2), (1, 2), (1, 2), (0, 1)]
        );
        let many = lanes(&[(0.0, 9.0); 6]);
        assert_eq!(many, [(0, 4), (1, 4), (2, 4), (3, 4), (3, 4), (3, 4)], "the last lane is shared");
    }
}
