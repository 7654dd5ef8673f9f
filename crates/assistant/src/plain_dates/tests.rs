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
        ("Dentist tomorrow 15:00 for 1.5h", "Tue 2026-11-24 15:00 to Tue 2026-11-24 16:30 | Dentist"),
        ("Week from hell Friday 20:00", "Fri 2026-11-27 20:00 | Week from hell"),
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
        ("last Friday", "Fri 2026-11-20"),
        ("last Monday", "Mon 2026-11-16"),
        ("Party tomorrow 20:00-24:00", "Tue 2026-11-24 20:00 to Wed 2026-11-25 00:00 | Party"),
        ("Party tomorrow 20:00 to 24:00", "Tue 2026-11-24 20:00 to Wed 2026-11-25 00:00 | Party"),
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
        ("the 3rd of March", "Wed 2027-03-03"),
        ("on the 3rd of March", "Wed 2027-03-03"),
        ("on the 1st", "Tue 2026-12-01"),
        ("Rent on the 23rd", "Mon 2026-11-23 | Rent"),
        ("on the 31st at 9:00", "Thu 2026-12-31 09:00"),
        ("Party on the 1st floor tomorrow", "Tue 2026-11-24 | Party on the 1st floor"),
        ("this weekend", "Sat 2026-11-28 to Mon 2026-11-30"),
        ("Hike next weekend", "Sat 2026-12-05 to Mon 2026-12-07 | Hike"),
        ("in 5 seconds", "Mon 2026-11-23 11:20"),
        ("24-12-2026 10:00", "Thu 2026-12-24 10:00"),
        ("2026/12/24", "Thu 2026-12-24"),
        ("Ski 24.12. - 2.1.", "Thu 2026-12-24 to Sun 2027-01-03 | Ski"),
        ("24.12.-2.1.", "Thu 2026-12-24 to Sun 2027-01-03"),
        ("24.12.2027–2.1.2028 Trip", "Fri 2027-12-24 to Mon 2028-01-03 | Trip"),
        ("24.-26.12.", "Thu 2026-12-24 to Sun 2026-12-27"),
        ("24-26 December", "Thu 2026-12-24 to Sun 2026-12-27"),
        ("24 December to 2 January", "Thu 2026-12-24 to Sun 2027-01-03"),
        ("from December 24th until January 2nd", "Thu 2026-12-24 to Sun 2027-01-03"),
        ("20.11. - 5.12.", "Sat 2027-11-20 to Mon 2027-12-06"),
        ("Tue-Thu Fair", "Tue 2026-11-24 to Fri 2026-11-27 | Fair"),
        ("next Friday - Sunday", "Fri 2026-12-04 to Mon 2026-12-07"),
        ("Friday to Monday", "Fri 2026-11-27 to Tue 2026-12-01"),
        ("Fair Tue 10:00 - Wed 12:00", "Tue 2026-11-24 10:00 to Wed 2026-11-25 12:00 | Fair"),
        ("next Monday 10:00 to Wednesday 12:00", "Mon 2026-11-30 10:00 to Wed 2026-12-02 12:00"),
        ("22:00 - tomorrow 2:00", "Mon 2026-11-23 22:00 to Tue 2026-11-24 02:00"),
        ("Trip Dec 24-26", "Thu 2026-12-24 to Sun 2026-12-27 | Trip"),
        ("Trip Dec 24 - 26", "Thu 2026-12-24 to Sun 2026-12-27 | Trip"),
        ("Trip 24th - 26th December", "Thu 2026-12-24 to Sun 2026-12-27 | Trip"),
        ("24.12. - 26.", "Thu 2026-12-24 to Sun 2026-12-27"),
        ("Fair tomorrow from 14 to 16", "Tue 2026-11-24 14:00 to Tue 2026-11-24 16:00 | Fair"),
        ("Fair tomorrow 9:00 - 14", "Tue 2026-11-24 09:00 to Tue 2026-11-24 14:00 | Fair"),
        ("Call in an hour and a half", "Mon 2026-11-23 12:50 | Call"),
        ("Call tomorrow 10:00 to Kim", "Tue 2026-11-24 10:00 | Call to Kim"),
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
fn times_with_a_point_or_two_halves_of_the_day_are_read() {
    for (text, expected) in [
        ("Call tomorrow 8.30am", "Tue 2026-11-24 08:30 | Call"),
        ("Call tomorrow 3.30 pm", "Tue 2026-11-24 15:30 | Call"),
        ("Call tomorrow 15.30 Uhr", "Tue 2026-11-24 15:30 | Call"),
        ("Call tomorrow 15 Uhr", "Tue 2026-11-24 15:00 | Call"),
        ("Call tomorrow 1:00 pm - 2:30 pm", "Tue 2026-11-24 13:00 to Tue 2026-11-24 14:30 | Call"),
        ("Call tomorrow from 1:00 pm to 2:30 pm", "Tue 2026-11-24 13:00 to Tue 2026-11-24 14:30 | Call"),
        ("Call tmrw 10:00", "Tue 2026-11-24 10:00 | Call"),
        ("Shift tomorrow 20:00-08:00", "Tue 2026-11-24 20:00 to Wed 2026-11-25 08:00 | Shift"),
        ("Lunch Friday 12:00 10 people", "Fri 2026-11-27 12:00 | Lunch 10 people"),
    ] {
        assert_eq!(shown(text), expected, "{text}");
    }
}

#[test]
fn parts_of_the_day_holidays_and_lengths_after_a_time_are_read() {
    for (text, expected) in [
        ("Gym tomorrow at 6 in the morning", "Tue 2026-11-24 06:00 | Gym"),
        ("Breakfast tomorrow morning at 8", "Tue 2026-11-24 08:00 | Breakfast"),
        ("Call mum this evening at 8pm", "Mon 2026-11-23 20:00 | Call mum"),
        ("Dinner Friday evening 7:30", "Fri 2026-11-27 19:30 | Dinner"),
        ("Dinner Friday evening 7:30 pm", "Fri 2026-11-27 19:30 | Dinner"),
        ("Dinner tonight at 8", "Mon 2026-11-23 20:00 | Dinner"),
        ("Show Friday night at 11", "Fri 2026-11-27 23:00 | Show"),
        ("Lunch tomorrow afternoon at 12", "Tue 2026-11-24 12:00 | Lunch"),
        ("Tea tomorrow afternoon 15:00", "Tue 2026-11-24 15:00 | Tea"),
        ("Call at 11 at night tomorrow", "Tue 2026-11-24 23:00 | Call"),
        ("Exam the 9th of December at 0900", "Wed 2026-12-09 09:00 | Exam"),
        ("Exam tomorrow at 1530 for 1h", "Tue 2026-11-24 15:30 to Tue 2026-11-24 16:30 | Exam"),
        ("Tour at 1600 Pennsylvania Avenue tomorrow", "Tue 2026-11-24 | Tour at 1600 Pennsylvania Avenue"),
        ("Dinner at 19 Friday", "Fri 2026-11-27 19:00 | Dinner"),
        ("Dinner tomorrow at 19 with Kim", "Tue 2026-11-24 19:00 | Dinner with Kim"),
        ("Webinar 2pm tomorrow (1 hour)", "Tue 2026-11-24 14:00 to Tue 2026-11-24 15:00 | Webinar"),
        ("Webinar tomorrow 14:00, 90 minutes", "Tue 2026-11-24 14:00 to Tue 2026-11-24 15:30 | Webinar"),
        ("Lunch (tomorrow 12:00) Kim", "Tue 2026-11-24 12:00 | Lunch Kim"),
        ("Doctor on Tuesday 1st at 11:15", "Tue 2026-12-01 11:15 | Doctor"),
        ("Doctor on Tuesday the 1st", "Tue 2026-12-01 | Doctor"),
        ("Party New Year's Eve 20:00", "Thu 2026-12-31 20:00 | Party"),
        ("Brunch on New Year’s Day", "Fri 2027-01-01 | Brunch"),
        ("Dinner Christmas Eve at 18", "Thu 2026-12-24 18:00 | Dinner"),
        ("Christmas dinner 20.12.", "Sun 2026-12-20 | Christmas dinner"),
        ("Fashion week on Friday 10:00", "Fri 2026-11-27 10:00 | Fashion week"),
    ] {
        assert_eq!(shown(text), expected, "{text}");
    }
}

#[test]
fn days_are_named_by_their_place_or_their_distance() {
    for (text, expected) in [
        ("Review in a fortnight", "Mon 2026-12-07 | Review"),
        ("Holiday 24.12. for a fortnight", "Thu 2026-12-24 to Thu 2027-01-07 | Holiday"),
        ("Call in a couple of days", "Wed 2026-11-25 | Call"),
        ("Rent end of month", "Mon 2026-11-30 | Rent"),
        ("Rent at the end of the month 9:00", "Mon 2026-11-30 09:00 | Rent"),
        ("Rent by the end of next month", "Thu 2026-12-31 | Rent"),
        ("Audit end of February", "Sun 2027-02-28 | Audit"),
        ("Audit end of year", "Thu 2026-12-31 | Audit"),
        ("End of year party 18.12.", "Fri 2026-12-18 | End of year party"),
        ("Rent on the last day of the month", "Mon 2026-11-30 | Rent"),
        ("Rent first day of next month", "Tue 2026-12-01 | Rent"),
        ("Board first Monday of December 10:00", "Mon 2026-12-07 10:00 | Board"),
        ("Board on the 2nd Tuesday in January", "Tue 2027-01-12 | Board"),
        ("Board the last Friday of the month", "Fri 2026-11-27 | Board"),
        ("Party last Friday of December", "Fri 2026-12-25 | Party"),
        ("Rent the 3rd of next month", "Thu 2026-12-03 | Rent"),
        ("Rent the 24th 9:00", "Tue 2026-11-24 09:00 | Rent"),
        ("Hike on the weekend", "Sat 2026-11-28 to Mon 2026-11-30 | Hike"),
        ("Hike at the weekend", "Sat 2026-11-28 to Mon 2026-11-30 | Hike"),
        ("Hike over the weekend", "Sat 2026-11-28 to Mon 2026-11-30 | Hike"),
        ("Bar next Friday at noon", "Fri 2026-12-04 12:00 | Bar"),
        ("Bar Friday next week 9:00", "Fri 2026-12-04 09:00 | Bar"),
        ("Bar Friday of this week", "Fri 2026-11-27 | Bar"),
        ("Bar next week on Monday at 9am", "Mon 2026-11-30 09:00 | Bar"),
        ("Bar next week Tuesday", "Tue 2026-12-01 | Bar"),
        ("Bar this coming Friday", "Fri 2026-11-27 | Bar"),
        ("Bar a week from Friday", "Fri 2026-12-04 | Bar"),
        ("Bar two weeks from now", "Mon 2026-12-07 | Bar"),
        ("Bar in two weeks from now 9:00", "Mon 2026-12-07 09:00 | Bar"),
        ("Bar 3 days from today", "Thu 2026-11-26 | Bar"),
        ("Bar 20 minutes from now", "Mon 2026-11-23 11:40 | Bar"),
        ("Bar two days before Friday 9:00", "Wed 2026-11-25 09:00 | Bar"),
        ("Bar the day after tomorrow", "Wed 2026-11-25 | Bar"),
        ("Bar tomorrow @3pm", "Tue 2026-11-24 15:00 | Bar"),
        ("Bar tomorrow around 8pm", "Tue 2026-11-24 20:00 | Bar"),
        ("Bar tomorrow at 20 o'clock", "Tue 2026-11-24 20:00 | Bar"),
        ("Bar tomorrow at 8 o'clock in the evening", "Tue 2026-11-24 20:00 | Bar"),
        ("Bar tomorrow evening 19:30-21:00", "Tue 2026-11-24 19:30 to Tue 2026-11-24 21:00 | Bar"),
        ("Bar tomorrow evening 7:30 - 9:00", "Tue 2026-11-24 19:30 to Tue 2026-11-24 21:00 | Bar"),
        ("Bar this evening 19:30 to 21:00", "Mon 2026-11-23 19:30 to Mon 2026-11-23 21:00 | Bar"),
        ("Drinks after work tomorrow 18:00", "Tue 2026-11-24 18:00 | Drinks after work"),
        ("TGI Fridays tomorrow 19:00", "Tue 2026-11-24 19:00 | TGI Fridays"),
        ("2nd breakfast 16:00", "Mon 2026-11-23 16:00 | 2nd breakfast"),
        ("'90s party Friday 20:00", "Fri 2026-11-27 20:00 | '90s party"),
        ("Montag GmbH tomorrow 9:00", "Tue 2026-11-24 09:00 | Montag GmbH"),
        ("Lunch 30 minutes before class tomorrow", "Tue 2026-11-24 | Lunch 30 minutes before class"),
    ] {
        assert_eq!(shown(text), expected, "{text}");
    }
}

#[test]
fn days_and_times_that_are_open_say_so() {
    let evening = "has no time; write it as in `tomorrow evening at 8`";
    for (text, expected) in [
        ("Bar this evening", format!("`this evening` {evening}")),
        ("Bar tonight", format!("`tonight` {evening}")),
        ("Bar tomorrow in the evening", format!("`in the evening` {evening}")),
        ("Bar at night tomorrow", format!("`at night` {evening}")),
        (
            "Rent end of the week",
            "`end of the week` may be Friday, 2026-11-27 or Sunday, 2026-11-29".to_owned(),
        ),
        (
            "Rent the 3rd of this month",
            "`the 3rd of this month` was Tuesday, 2026-11-03; name a later day".to_owned(),
        ),
        ("Board fifth Monday of December", "`fifth Monday of December` does not exist".to_owned()),
        ("Bar first Friday of Lent", "`first Friday of` is not understood".to_owned()),
        ("Bar the Friday after next", "`Friday after next` is not understood".to_owned()),
        ("Bar next next Friday", "`next next` is not understood".to_owned()),
        ("Workshop 2 days from Friday", "`2 days from Friday` is not understood".to_owned()),
        ("Bar an hour before noon tomorrow", "`an hour before noon` is not understood".to_owned()),
        ("Bar tomorrow after 5pm", "`after 5pm` is not understood".to_owned()),
        ("Bar until Friday", "`until Friday` is not understood".to_owned()),
        (
            "Fridays 9:00",
            "`Fridays` repeats, which cannot be written here; import the event from an `.ics` file".to_owned(),
        ),
        (
            "Tea on weekdays",
            "`weekdays` repeats, which cannot be written here; import the event from an `.ics` file".to_owned(),
        ),
        ("Montag 9:00", "`Montag` is not understood".to_owned()),
        ("Arzt morgen 9 Uhr", "`morgen` is not understood".to_owned()),
        ("Rent 24th 9:00", "`24th` is not understood".to_owned()),
        ("Rent 24th at 9:00", "`24th` is not understood".to_owned()),
        ("Bar 29 Nov '27 9am", "`'27` is not understood".to_owned()),
        ("Bar 29 Nov 27 9am", "`27` is not understood".to_owned()),
        ("Bar tomorrow 14:00 +2h", "`+2h` is not understood".to_owned()),
        ("Bar tomorrow at 8ish", "`8ish` is not understood".to_owned()),
        ("Bar tomorrow 9:5", "`9:5` is not understood".to_owned()),
        ("Bar tomorrow 9 to 5", "`9` is not understood".to_owned()),
        ("Bar in 9999 years", "`in 9999 years` does not exist".to_owned()),
        (
            "Plan next year 24 December",
            "`next year` has several days: write `Fri 2027-01-01`, or `Fri 2027-01-01 - Fri 2027-12-31` for all of them"
                .to_owned(),
        ),
    ] {
        assert_eq!(shown(text), format!("error: {expected}"), "{text}");
    }
    let saturday = date(2026, 11, 28).at(11, 20, 0, 0).in_tz("Europe/Berlin").unwrap();
    let open = |text: &str| parse(text, &saturday).unwrap_err().to_string();
    assert_eq!(open("Hike on the weekend"), "`the weekend` may be this weekend or next weekend");
    assert_eq!(open("Bar Friday this week"), "`Friday this week` was Friday, 2026-11-27; name a later day");
}

#[test]
fn words_that_move_a_date_or_a_length_are_not_left_in_the_title() {
    for (text, expected) in [
        ("Bar Friday 14.30", "`14.30` is not understood"),
        ("Bar 15.30 tomorrow", "`15.30` is not understood"),
        ("Bar 24.12.2026 10.30", "`10.30` is not understood"),
        ("Bar Dec 32 10:00", "`Dec` is not understood"),
        ("Bar 32 Dec 10:00", "`32` is not understood"),
        ("Bar 1.1.10000 10:00", "`1.1.10000` is not understood"),
        ("Bar tomorrow 10:00 Europe/Berlin", "`Europe/Berlin` is not understood"),
        ("Bar Friday 10", "`10` is not understood"),
        ("Bar tomorrow 15:00-14:00", "`15:00-14:00` ends before it begins"),
        ("Bar tomorrow 9:00 for 1.25h", "`1.25h` is not understood"),
        ("Bar tomorrow 9:00 for 99999999999 hours", "`99999999999` is not understood"),
        ("Bar Friday week", "`week` is not understood"),
        ("Vet a week on Tuesday 10:00", "`a` is not understood"),
        ("Vet 2 weeks tomorrow 10:00", "`2` is not understood"),
        ("Doctor on Tuesday 3rd at 11:15", "`3rd` is Thursday, 2026-12-03"),
        ("Dinner tomorrow at 7 with Kim", "`7` may be 07:00 or 19:00"),
    ] {
        assert_eq!(shown(text), format!("error: {expected}"), "{text}");
    }
}

#[test]
fn what_has_two_meanings_or_none_says_so() {
    for (text, expected) in [
        ("Lunch", "`Lunch` contains no date or time"),
        ("", "`` contains no date or time"),
        ("at", "`at` contains no date or time"),
        ("5/6", "`5/6` may be the day 5 of the month 6 or the day 6 of the month 5"),
        ("Tea tomorrow at 3", "`3` may be 03:00 or 15:00"),
        ("Tea tomorrow at 12", "`12` may be 00:00 or 12:00"),
        ("15.10", "`15.10` may be the date 15.10. or 15 o'clock and 10 minutes"),
        ("Monday 9:00", "`Monday` may be Monday, 2026-11-23 or Monday, 2026-11-30"),
        ("tomorrow or Friday", "there are two dates: `tomorrow` and `Friday`"),
        ("tomorrow 9:00 10:00", "there are two times: `9:00` and `10:00`"),
        ("in 2 hours 9:00", "there are two times: `in 2 hours` and `9:00`"),
        ("31.2.", "`31.2.` does not exist"),
        ("2026-12-24 15:00+01:00", "`15:00+01:00` is not understood"),
        ("Party tomorrow 24:00", "`24:00` is not understood"),
        (
            "last week",
            "`last week` has several days: write `Mon 2026-11-16`, or `Mon 2026-11-16 - Sun 2026-11-22` for all of them",
        ),
        (
            "Conference next week",
            "`next week` has several days: write `Mon 2026-11-30`, or `Mon 2026-11-30 - Sun 2026-12-06` for all of them",
        ),
        (
            "next month",
            "`next month` has several days: write `Tue 2026-12-01`, or `Tue 2026-12-01 - Thu 2026-12-31` for all of them",
        ),
        (
            "Hike next weekend 10:00",
            "`next weekend` has several days: write `Sat 2026-12-05`, or `Sat 2026-12-05 - Sun 2026-12-06` for all of them",
        ),
        ("Fair Tue 10:00 - Wed", "`- Wed` has a time of day at one end only; write it at both or at neither"),
        (
            "24.12. - 2.1. 10:00",
            "`- 2.1. 10:00` has a time of day at one end only; write it at both or at neither",
        ),
        ("24.12.2026 - 2.1.2026", "`- 2.1.2026` ends before it begins"),
        ("24.12. - 2.1. for 3 days", "there are two lengths: `- 2.1.` and `for 3 days`"),
        ("Mon-Wed Fair", "`Mon` may be Monday, 2026-11-23 or Monday, 2026-11-30"),
        ("5-6-2026", "`5-6-2026` may be the day 5 of the month 6 or the day 6 of the month 5"),
        ("Tea tomorrow 10-12", "`10-12` is not understood"),
        ("Tea 24 Dec 9-10", "`9-10` is not understood"),
        ("Tea tomorrow from 10 to 11", "`10` may be 10:00 or 22:00"),
        ("Trip 24.12. - 32", "`32` is not understood"),
        ("Fest 24 December - 2", "`2` may be 02:00 or 14:00"),
        ("Call in 1 hour and a half", "`and` is not understood"),
        ("Friday 24 December 17:00", "`24 December` is Thursday, 2026-12-24"),
        ("Bar 2026-12-24 17:00 UTC", "`UTC` is not understood"),
        ("Bar 2026-12-24 17:00 EST", "`EST` is not understood"),
        ("Bar 2026-12-24 17:00 New York time", "`time` is not understood"),
        ("Bar tomorrow 1530", "`1530` is not understood"),
        ("Bar tomorrow 15h30", "`15h30` is not understood"),
        ("Bar tomorrow at 19h", "`19h` is not understood"),
        ("Bar tomorrow 13pm", "`13pm` is not understood"),
        ("Bar tomorrow 25:00", "`25:00` is not understood"),
        ("Bar tomorrow evening", "`tomorrow evening` has no time; write it as in `tomorrow evening at 8`"),
        ("Bar tomorrow half past three pm", "`half` is not understood"),
        ("Bar tomorrow 15:00 for 0 min", "`0` does not exist"),
        ("Bar tomorrow 15:00 for -5 min", "`-5` does not exist"),
        ("2026-13-01", "`2026-13-01` does not exist"),
        ("Tea 9:00", "`9:00` has passed today; name the day"),
        (
            "Stand-up every Monday 9:00",
            "`every` repeats, which cannot be written here; import the event from an `.ics` file",
        ),
    ] {
        assert_eq!(shown(text), format!("error: {expected}"), "{text}");
    }
    assert_eq!(parse(&"x".repeat(1001), &now()).unwrap_err(), Error::TooLong);
    let maybe = parse_alone("tomorrow maybe", &now(), None).unwrap_err();
    assert_eq!(maybe, Error::NotUnderstood("maybe".to_owned()));
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
    let before_autumn = date(2027, 10, 30).at(12, 0, 0, 0).in_tz("Europe/Berlin").unwrap();
    let twice = parse("tomorrow 2:30", &before_autumn).unwrap_err().to_string();
    assert_eq!(twice, "`2:30` may be 2027-10-31T02:30:00+02 or 2027-10-31T02:30:00+01");
    let first = parse("2027-10-31T02:30:00+02", &before_autumn).unwrap();
    assert_eq!(first.start.to_string(), "2027-10-31T02:30:00+02:00[Europe/Berlin]");
    assert_eq!(start("in 24 hours"), "2027-03-28T13:00:00+02:00[Europe/Berlin]");
    assert_eq!(start("in 1 day 12:00"), "2027-03-28T12:00:00+02:00[Europe/Berlin]");
}

proptest::proptest! {
    #[test]
    fn no_text_panics(text in r"((in|for|at|on|the|1st|to|-|next|week(end)?|24\.12\.|mon-wed|9{1,5}|[0-9]{1,5}[hm.:/-]?|pm|ago|and|a|half|an|hour|friday|\PC{0,6}) ?){0,8}") {
        let _ = parse(&text, &now());
    }
}
