//! Mutations of calendars and of the answers of CalDAV servers: any text is read or refused.

use super::super::caldav;
use super::{CalendarDocument, Entry, own, read, to_ics, year};

const CALENDARS: [&str; 5] = [
    "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nX-WR-TIMEZONE:Europe/Berlin\r\nBEGIN:VEVENT\r\nUID:a\r\nDTSTART:20261005T100000Z\r\n\
     DURATION:P1DT2H\r\nRRULE:FREQ=WEEKLY;BYDAY=MO,-1TH;BYSETPOS=1,-1;UNTIL=20270101T000000Z;WKST=SU\r\n\
     EXDATE;VALUE=DATE:20261012\r\nRDATE;VALUE=PERIOD:20261007T100000Z/PT3H\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n",
    "BEGIN:VCALENDAR\nMETHOD:REQUEST\nBEGIN:VTIMEZONE\nTZID:Office\nBEGIN:DAYLIGHT\nTZOFFSETFROM:-0500\nTZOFFSETTO:-0400\n\
     DTSTART:20070311T020000\nRRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=2SU\nTZNAME:EDT\nEND:DAYLIGHT\nBEGIN:STANDARD\n\
     TZOFFSETFROM:-0400\nTZOFFSETTO:-0500\nDTSTART:20071104T020000\nRDATE:20081102T020000\nEND:STANDARD\nEND:VTIMEZONE\n\
     BEGIN:VEVENT\nUID:b\nDTSTART;TZID=Office:20261030T090000\nDTEND;TZID=Office:20261030T100000\nRRULE:FREQ=DAILY;COUNT=9\n\
     SUMMARY:a\\, b\n c\nATTENDEE;CN=\"X: Y\";PARTSTAT=ACCEPTED:mailto:x@example.org\nEND:VEVENT\nBEGIN:VEVENT\nUID:b\n\
     RECURRENCE-ID;RANGE=THISANDFUTURE;TZID=Office:20261101T090000\nDTSTART;TZID=Office:20261101T120000\nSEQUENCE:2\n\
     END:VEVENT\nEND:VCALENDAR\n",
    "BEGIN:VEVENT\nDTSTART;VALUE=DATE:20261224\nRRULE:FREQ=YEARLY;BYWEEKNO=1,-1;INTERVAL=2\nEXRULE:FREQ=MONTHLY;BYMONTHDAY=-1\n\
     BEGIN:VALARM\nTRIGGER;RELATED=END:-PT15M\nACTION:DISPLAY\nEND:VALARM\nEND:VEVENT\n",
    "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:c\nDTSTART;TZID=UTC+05:30:20261101T013000\nRRULE:FREQ=SECONDLY;BYHOUR=1;BYMINUTE=2,3;\
     BYSECOND=60;BYYEARDAY=-366,1\nEND:VEVENT\nBEGIN:VTODO\nUID:d\nEND:VTODO\nEND:VCALENDAR\n",
    "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:e\nDTSTART;TZID=America/New_York:20261101T013000\nDURATION:PT45M\n\
     RRULE:FREQ=HOURLY;INTERVAL=7;BYMONTH=11,12;BYMONTHDAY=1,-1\nEND:VEVENT\nEND:VCALENDAR\n",
];

const ANSWERS: [&str; 3] = [
    "<?xml version='1.0'?><D:multistatus xmlns:D=\"DAV:\" xmlns:C=\"urn:x\"><D:response><D:href>/cal/</D:href><D:propstat>\
     <D:prop><D:resourcetype><D:collection/></D:resourcetype><D:sync-token>urn:7</D:sync-token></D:prop>\
     <D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response></D:multistatus>",
    "<multistatus xmlns='DAV:'><response><href>https://x/a%20b.ics</href><href>/b</href><status>HTTP/1.1 404 Gone</status></response>\
     <sync-token>&lt;&#65;</sync-token></multistatus>",
    "<multistatus><response><href>/a</href><propstat><prop><getetag>&quot;1&quot;</getetag><calendar-data><![CDATA[BEGIN:]]>\
     </calendar-data></prop><status>HTTP/1.1 507 x</status></propstat><!-- x --></response></multistatus>",
];

#[test]
fn mutated_calendars_are_read_and_printed_or_refused() {
    adjutant_base::fuzz::run(&CALENDARS, |text| {
        let Ok(parsed) = read(text) else { return };
        let zone = own();
        let entries = parsed.drafts.iter().map(|draft| {
            let zone = draft.details.when.zone.as_ref().or(Some(&zone));
            Entry { raw: &draft.source, zone, starts_at: draft.starts_at, reminders: Vec::new() }
        });
        to_ics(&CalendarDocument { name: text, entries: entries.collect(), now: year().from });
    });
}

#[test]
fn mutated_answers_of_caldav_are_read_or_refused() {
    adjutant_base::fuzz::run(&ANSWERS, |xml| {
        for resource in caldav::parse(xml).unwrap_or_default().resources {
            assert_eq!(caldav::address_of(&resource.version()), resource.address());
        }
    });
}
