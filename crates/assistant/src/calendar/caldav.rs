//! Request bodies and responses of CalDAV (RFC 4791). The caller sends them.

use std::borrow::Cow;

/// Asks for the versions of all that is in a collection.
pub const LIST: &str = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n\
    <propfind xmlns=\"DAV:\"><prop><getetag/><resourcetype/></prop></propfind>";

/// One thing of a collection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resource {
    /// Its path on the server.
    pub href: String,
    pub etag: String,
    /// Its calendar text, where it was asked for.
    pub text: Option<String>,
    /// Whether it is a collection and no event.
    pub collection: bool,
}

/// Asks for the text of these.
pub fn fetch<'a>(hrefs: impl Iterator<Item = &'a str>) -> String {
    let hrefs = hrefs.map(|href| format!("<d:href>{}</d:href>", escape(href))).collect::<Vec<_>>().concat();
    format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<c:calendar-multiget xmlns:d=\"DAV:\" \
         xmlns:c=\"urn:ietf:params:xml:ns:caldav\"><d:prop><d:getetag/><c:calendar-data/></d:prop>{hrefs}\
         </c:calendar-multiget>"
    )
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Reads a `multistatus`. Elements are known by their names without the prefix, because every server has its own;
/// an unknown element is skipped. `None` where the text is not XML of that kind.
pub fn parse(xml: &str) -> Option<Vec<Resource>> {
    let mut found = Vec::new();
    let mut current: Option<Resource> = None;
    let mut text = String::new();
    let mut rest = xml;
    let mut seen = false;
    while let Some(at) = rest.find('<') {
        text.push_str(&entities(&rest[..at]));
        rest = &rest[at..];
        if let Some(inner) = rest.strip_prefix("<![CDATA[") {
            let end = inner.find("]]>")?;
            text.push_str(&inner[..end]);
            rest = &inner[end + 3..];
            continue;
        }
        if let Some(inner) = rest.strip_prefix("<!--") {
            rest = &inner[inner.find("-->")? + 3..];
            continue;
        }
        let end = rest.find('>')?;
        let tag = &rest[1..end];
        rest = &rest[end + 1..];
        let (closing, tag) = tag.strip_prefix('/').map_or((false, tag), |tag| (true, tag));
        let name = tag.split([' ', '\t', '\r', '\n', '/']).next().unwrap_or_default();
        let name = name.rsplit(':').next().unwrap_or_default();
        match (closing, name, &mut current) {
            (false, "multistatus", _) => seen = true,
            (false, "response", _) => current = Some(Resource::default()),
            (true, "response", _) => found.extend(current.take()),
            // The first one is the resource's own; the others are in its properties.
            (true, "href", Some(resource)) if resource.href.is_empty() => {
                text.trim().clone_into(&mut resource.href);
            }
            (true, "getetag", Some(resource)) => text.trim().clone_into(&mut resource.etag),
            (true, "calendar-data", Some(resource)) => resource.text = Some(text.clone()),
            (false, "collection", Some(resource)) => resource.collection = true,
            _ => {}
        }
        text.clear();
    }
    seen.then_some(found)
}

/// Replaces the entities that XML itself knows, and characters by their number.
fn entities(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let Some(end) = rest.find(';').filter(|end| *end <= 10) else {
            out.push('&');
            rest = &rest[1..];
            continue;
        };
        let name = &rest[1..end];
        let number = name.strip_prefix("#x").map_or_else(
            || name.strip_prefix('#').and_then(|digits| digits.parse().ok()),
            |digits| u32::from_str_radix(digits, 16).ok(),
        );
        match (name, number.and_then(char::from_u32)) {
            ("amp", _) => out.push('&'),
            ("lt", _) => out.push('<'),
            ("gt", _) => out.push('>'),
            ("quot", _) => out.push('"'),
            ("apos", _) => out.push('\''),
            (_, Some(character)) => out.push(character),
            _ => out.push_str(&rest[..=end]),
        }
        rest = &rest[end + 1..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::proptest;

    use super::{Resource, fetch, parse};

    #[test]
    fn answers_of_servers_with_other_prefixes_are_read() {
        let xml = "<?xml version='1.0'?><D:multistatus xmlns:D=\"DAV:\" xmlns:C=\"urn:x\"><D:response>\
                   <D:href>/cal/</D:href><D:propstat><D:prop><D:resourcetype><D:collection/><C:calendar/></D:resourcetype>\
                   </D:prop></D:propstat></D:response><D:response><D:href>/cal/a%20b.ics</D:href><D:propstat><D:prop>\
                   <D:getetag>&quot;1&#34;</D:getetag><C:calendar-data><![CDATA[BEGIN:VCALENDAR\nX:<&]]></C:calendar-data>\
                   <!-- > --></D:prop></D:propstat></D:response></D:multistatus>";
        let event = Resource {
            href: "/cal/a%20b.ics".to_owned(),
            etag: "\"1\"".to_owned(),
            text: Some("BEGIN:VCALENDAR\nX:<&".to_owned()),
            collection: false,
        };
        let found = parse(xml).unwrap();
        assert_eq!((found[0].collection, &found[1]), (true, &event));
        assert!(fetch(["/a&b"].into_iter()).contains("<d:href>/a&amp;b</d:href>"));
        assert_eq!(parse("<html><body>Log in</body></html>"), None);
        assert_eq!(parse("<multistatus><response><href>"), Some(Vec::new()));
    }

    proptest! {
        #[test]
        fn any_answer_is_read_or_refused(xml in "(<(/)?(D:)?(multistatus|response|href|x|!--|!\\[CDATA\\[)|>|&(amp|#x41|#);|[a-z]|é){0,30}") {
            let _ = parse(&xml);
        }
    }
}
