//! Tests of the dates that people type, on Monday, 2026-11-23, at 11:20 in Berlin.

use jiff::civil::date;

use super::*;

fn now() -> Zoned {
    date(2026, 11, 23).at(11, 20, 0, 0).in_tz("Europe/Berlin").unwrap()
}

/// Reads a text and shows the start, the end if there is one, and the other words.
fn shown(text: &str) -> String {
    let dated = match parse(text, &now()) {
        Ok(dated) => dated,
        Err(error) => return format!("error: {error}"),
    };
    let form = if dated.all_day { "%a %Y-%m-%d" } else { "%a %Y-%m-%d %H:%M" };
    let end = dated.length.map(|length| dated.start.checked_add(length).unwrap());
    let end = end.map(|end| format!(" to {}", end.strftime(form))).unwrap_or_default();
    let rest = if dated.rest.is_empty() { String::new() } else { format!(" | {}", dated.rest) };
    format!("{}{end}{rest}", dated.start.strftime(form))
}

#[test]
fn dates_in_the_words_of_people_are_read() {
    for (text, expected) in [
        ("Dentist tomorrow 15:00 for 45 min", "Tue 2026-11-24 15:00 to Tue 2026-11-24 15:45 | Dentist"),
        ("Tomorrow 3pm, call Kim", "Tue 2026-11-24 15:00 | call Kim"),
        ("today", "Mon 2026-11-23"),
        ("tonight 20:30 Cinema", "Mon 2026-11-23 20:30 | Cinema"),
        ("the day after tomorrow at noon", "Wed 2026-11-25 12:00"),
        ("Friday", "Fri 2026-11-27"),
        ("this Friday", "Fri 2026-11-27"),
        ("next Friday", "Fri 2026-12-04"),
        ("this Monday", "Mon 2026-11-23"),
        ("next Monday 9:00", "Mon 2026-11-30 09:00"),
        ("on Sun 10:30 am", "Sun 2026-11-29 10:30"),
        ("next week", "Mon 2026-11-30"),
        ("next month", "Tue 2026-12-01"),
        ("in 2 hours", "Mon 2026-11-23 13:20"),
        ("in half an hour Tea", "Mon 2026-11-23 11:50 | Tea"),
        ("in 20min", "Mon 2026-11-23 11:40"),
        ("in 1 hour and 5 minutes", "Mon 2026-11-23 12:25"),
        ("in 3 days 18:00", "Thu 2026-11-26 18:00"),
        ("in two weeks", "Mon 2026-12-07"),
        ("in a week", "Mon 2026-11-30"),
        (
            "Table for two tomorrow 19:00 for three hours",
            "Tue 2026-11-24 19:00 to Tue 2026-11-24 22:00 | Table for two",
        ),
        ("2026-12-24 15:00:00 for 45 min", "Thu 2026-12-24 15:00 to Thu 2026-12-24 15:45"),
        ("2 days ago", "Sat 2026-11-21"),
        ("24.12.", "Thu 2026-12-24"),
        ("24.12.2027 18:00 Dinner", "Fri 2027-12-24 18:00 | Dinner"),
        ("1.2.27", "Mon 2027-02-01"),
        ("2026-12-24", "Thu 2026-12-24"),
        ("2026-12-24T15:00", "Thu 2026-12-24 15:00"),
        ("2026-12-24T15:00:00Z", "Thu 2026-12-24 16:00"),
        ("12/24", "Thu 2026-12-24"),
        ("24/12/2026", "Thu 2026-12-24"),
        ("4/4", "Sun 2027-04-04"),
        ("24 December", "Thu 2026-12-24"),
        ("Dec 24th, 2027", "Fri 2027-12-24"),
        ("the 3rd of March", "Wed 2027-03-03 | the"),
        ("Call May tomorrow", "Tue 2026-11-24 | Call May"),
        ("29 Feb", "Tue 2028-02-29"),
        ("Review tomorrow 15:00-16:30", "Tue 2026-11-24 15:00 to Tue 2026-11-24 16:30 | Review"),
        ("Review tomorrow 3-4pm", "Tue 2026-11-24 15:00 to Tue 2026-11-24 16:00 | Review"),
        ("Party Friday from 22:00 to 02:00", "Fri 2026-11-27 22:00 to Sat 2026-11-28 02:00 | Party"),
        ("Fair 5.12. for 2 days", "Sat 2026-12-05 to Mon 2026-12-07 | Fair"),
        ("Talk tomorrow 9:00 for 1h30", "Tue 2026-11-24 09:00 to Tue 2026-11-24 10:30 | Talk"),
        ("Talk tomorrow 9:00 for 1.5 hours", "Tue 2026-11-24 09:00 to Tue 2026-11-24 10:30 | Talk"),
        ("Tea 16:00", "Mon 2026-11-23 16:00 | Tea"),
        ("Dinner tomorrow 19:00 at Luigi's", "Tue 2026-11-24 19:00 | Dinner at Luigi's"),
        ("Gift for Kim tomorrow", "Tue 2026-11-24 | Gift for Kim"),
        ("Thursday 2026-12-24 17:00 Bar", "Thu 2026-12-24 17:00 | Bar"),
        ("Thursday, December 24th, 2026 at 5 pm", "Thu 2026-12-24 17:00"),
        ("Monday 30 November", "Mon 2026-11-30"),
        ("Tea time tomorrow 16:00", "Tue 2026-11-24 16:00 | Tea time"),
        ("Evening run with 12 people tomorrow 19:00", "Tue 2026-11-24 19:00 | Evening run with 12 people"),
        ("Room 1530 tomorrow", "Tue 2026-11-24 | Room 1530"),
        ("Lunch in Berlin tomorrow at 13", "Tue 2026-11-24 13:00 | Lunch in Berlin"),
    ] {
        assert_eq!(shown(text), expected, "{text}");
    }
}

#[test]
fn what_has_two_meanings_or_none_says_so() {
    for (text, expected) in [
        ("Lunch", "`Lunch` names no date and no time"),
        ("", "`` names no date and no time"),
        ("at", "`at` names no date and no time"),
        ("5/6", "`5/6` may be the day 5 of the month 6 or the day 6 of the month 5"),
        ("Tea tomorrow at 3", "`3` may be 03:00 or 15:00"),
        ("Tea tomorrow at 12", "`12` may be 00:00 or 12:00"),
        ("15.10", "`15.10` may be the date 15.10. or 15 o'clock and 10 minutes"),
        ("Monday 9:00", "`Monday` may be Monday, 2026-11-23 or Monday, 2026-11-30"),
        ("tomorrow or Friday", "there are two dates: `tomorrow` and `Friday`"),
        ("tomorrow 9:00 10:00", "there are two times: `9:00` and `10:00`"),
        ("in 2 hours 9:00", "there are two times: `in 2 hours` and `9:00`"),
        ("31.2.", "`31.2.` does not exist"),
        ("Friday 24 December 17:00", "`24 December` is Thursday, 2026-12-24"),
        ("Bar 2026-12-24 17:00 UTC", "`UTC` is not understood"),
        ("Bar 2026-12-24 17:00 EST", "`EST` is not understood"),
        ("Bar 2026-12-24 17:00 New York time", "`time` is not understood"),
        ("Bar tomorrow 1530", "`1530` is not understood"),
        ("Bar tomorrow 15h30", "`15h30` is not understood"),
        ("Bar tomorrow at 19h", "`19h` is not understood"),
        ("Bar tomorrow 13pm", "`13pm` is not understood"),
        ("Bar tomorrow 25:00", "`25:00` is not understood"),
        ("Bar tomorrow evening", "`evening` is not understood"),
        ("Bar tomorrow half past three pm", "`half` is not understood"),
        ("Bar tomorrow 15:00 for 0 min", "`0` does not exist"),
        ("Bar tomorrow 15:00 for -5 min", "`-5` does not exist"),
        ("2026-13-01", "`2026-13-01` does not exist"),
        ("Tea 9:00", "`9:00` has passed today"),
        (
            "Stand-up every Monday 9:00",
            "`every` repeats; an event of this kind can be imported from an `.ics` file",
        ),
    ] {
        assert_eq!(shown(text), format!("error: {expected}"), "{text}");
    }
    assert_eq!(parse(&"x".repeat(1001), &now()).unwrap_err(), Error::TooLong);
    assert_eq!(parse_alone("tomorrow maybe", &now()).unwrap_err(), Error::NotUnderstood("maybe".to_owned()));
}

#[test]
fn a_time_that_the_clocks_skip_or_show_twice_is_a_real_one() {
    let before = date(2027, 3, 27).at(12, 0, 0, 0).in_tz("Europe/Berlin").unwrap();
    let start = |text: &str| parse(text, &before).unwrap().start.to_string();
    assert_eq!(start("tomorrow 2:30"), "2027-03-28T03:30:00+02:00[Europe/Berlin]");
    let skipped = parse("28.3. 02:30-03:15", &before).unwrap();
    assert_eq!(
        (skipped.start.to_string().as_str(), skipped.length.unwrap().get_minutes()),
        ("2027-03-28T03:30:00+02:00[Europe/Berlin]", 45)
    );
    assert_eq!(start("in 24 hours"), "2027-03-28T13:00:00+02:00[Europe/Berlin]");
    assert_eq!(start("in 1 day 12:00"), "2027-03-28T12:00:00+02:00[Europe/Berlin]");
}

proptest::proptest! {
    #[test]
    fn no_text_panics(text in r"((in|for|at|next|24\.12\.|9{1,5}|[0-9]{1,5}[hm.:/-]?|pm|ago|and|a|half|an|hour|friday|\PC{0,6}) ?){0,8}") {
        let _ = parse(&text, &now());
    }
}
