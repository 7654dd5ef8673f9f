//! Request bodies and responses of CalDAV (RFC 4791) and of the synchronization of collections (RFC 6578). The caller
//! sends them.

use percent_encoding::percent_decode_str;
use roxmltree::{Document, Node};

/// The request for the versions of all resources of a collection, and for the version of the collection.
pub const LIST: &str = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n\
    <propfind xmlns=\"DAV:\"><prop><getetag/><resourcetype/><sync-token/></prop></propfind>";

/// Status of a resource that no longer exists.
const NOT_FOUND: u16 = 404;
/// Status of a collection that has more changes than one answer has.
const TRUNCATED: u16 = 507;

/// Attributes that an element and those around it may have together. The parser compares each with all of them.
const MAX_ATTRIBUTES: usize = 64;

/// A `multistatus`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    pub resources: Vec<Resource>,
    /// The version of the collection, from servers that have one.
    pub sync_token: Option<String>,
}

/// A resource or a collection in an answer, with its properties.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resource {
    /// Its path on the server.
    pub href: String,
    pub etag: String,
    /// Its calendar text, where it was asked for.
    pub text: Option<String>,
    /// Whether it is a collection and no event.
    pub collection: bool,
    /// The status that is not success; `None` where all was answered.
    pub failure: Option<u16>,
}

impl Resource {
    /// Returns the path on the server, however the server writes it.
    pub fn address(&self) -> String {
        let path = self
            .href
            .split_once("://")
            .map_or(self.href.as_str(), |(_, rest)| rest.find('/').map_or("/", |at| &rest[at..]));
        percent_decode_str(path).decode_utf8_lossy().replace('\n', "")
    }

    /// Returns the version of a resource with its address: servers give the same version to several resources.
    pub fn version(&self) -> String {
        format!("{}\n{}", self.address(), self.etag)
    }

    /// Returns whether it no longer exists.
    pub fn is_gone(&self) -> bool {
        self.failure == Some(NOT_FOUND)
    }

    /// Returns whether the answer about it ends early.
    pub fn is_truncated(&self) -> bool {
        self.failure == Some(TRUNCATED)
    }
}

/// Returns the address of a version.
pub fn address_of(version: &str) -> &str {
    version.split('\n').next().unwrap_or_default()
}

/// Returns the request for the changes of a collection since the version `token`.
pub fn changes_since(token: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<sync-collection xmlns=\"DAV:\"><sync-token>{}</sync-token>\
         <sync-level>1</sync-level><prop><getetag/><resourcetype/></prop></sync-collection>",
        escape(token)
    )
}

/// Returns the request for the texts of the resources `hrefs`.
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

/// Reads a `multistatus`. Elements are known by their names without the prefix, because every server has its own; an
/// unknown element is skipped. `None` where the text is not a whole document of that kind, or has very many attributes.
pub fn parse(xml: &str) -> Option<Answer> {
    if has_too_many_attributes(xml) {
        return None;
    }
    let document = Document::parse(xml).ok()?;
    let root = document.root_element();
    if root.tag_name().name() != "multistatus" {
        return None;
    }
    let mut answer = Answer::default();
    for part in root.children() {
        match part.tag_name().name() {
            "response" => {
                let mut resource = Resource::default();
                for part in part.children() {
                    match part.tag_name().name() {
                        "status" => resource.failure = failure(part),
                        "propstat" => properties(part, &mut resource, &mut answer.sync_token),
                        _ => {}
                    }
                }
                // One status may be that of several resources.
                let hrefs = named(part, "href").map(|href| text(href).trim().to_owned());
                answer.resources.extend(hrefs.map(|href| Resource { href, ..resource.clone() }));
            }
            "sync-token" => answer.sync_token = Some(text(part).trim().to_owned()),
            _ => {}
        }
    }
    Some(answer)
}

/// Returns whether an element has more than [`MAX_ATTRIBUTES`] attributes together with those around it.
fn has_too_many_attributes(xml: &str) -> bool {
    let (mut around, mut total) = (Vec::new(), 0);
    let mut rest = xml;
    while let Some(at) = rest.find('<') {
        rest = &rest[at..];
        let other = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")];
        if let Some((start, end)) = other.into_iter().find(|(start, _)| rest.starts_with(start)) {
            let Some(at) = rest[start.len()..].find(end) else { return false };
            rest = &rest[start.len() + at + end.len()..];
            continue;
        }
        let Some((tag, attributes)) = tag(rest) else { return false };
        total += attributes;
        if total > MAX_ATTRIBUTES {
            return true;
        }
        if tag.starts_with("</") {
            total -= around.pop().unwrap_or(0);
        } else if tag.ends_with("/>") {
            total -= attributes;
        } else {
            around.push(attributes);
        }
        rest = &rest[tag.len()..];
    }
    false
}

/// Returns the tag that a text begins with, and the number of its attributes; `None` where it has no end.
fn tag(text: &str) -> Option<(&str, usize)> {
    let (mut quote, mut attributes) = (None, 0);
    for (at, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return Some((&text[..=at], attributes)),
            (None, b'"' | b'\'') => {
                quote = Some(byte);
                attributes += 1;
            }
            (Some(open), _) if byte == open => quote = None,
            _ => {}
        }
    }
    None
}

/// Reads properties that have the same status. A property that a resource does not have is not a failure.
fn properties(propstat: Node<'_, '_>, resource: &mut Resource, sync_token: &mut Option<String>) {
    match named(propstat, "status").next().and_then(failure) {
        None => {}
        Some(NOT_FOUND) => return,
        other => {
            resource.failure = resource.failure.or(other);
            return;
        }
    }
    for property in named(propstat, "prop").flat_map(|prop| prop.children()) {
        match property.tag_name().name() {
            "getetag" => text(property).trim().clone_into(&mut resource.etag),
            "calendar-data" => resource.text = Some(text(property)),
            "resourcetype" => resource.collection = named(property, "collection").next().is_some(),
            "sync-token" => *sync_token = Some(text(property).trim().to_owned()),
            _ => {}
        }
    }
}

/// Returns the children of that name.
fn named<'a, 'input>(node: Node<'a, 'input>, name: &'static str) -> impl Iterator<Item = Node<'a, 'input>> {
    node.children().filter(move |child| child.tag_name().name() == name)
}

fn text(node: Node<'_, '_>) -> String {
    node.children().filter_map(|child| child.text()).collect()
}

/// Returns the status of a status line, if it is not success. A line that cannot be read is the status 0.
fn failure(status: Node<'_, '_>) -> Option<u16> {
    let code = text(status).split_whitespace().nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
    Some(code).filter(|code| !(200..300).contains(code))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::proptest;

    use super::{Resource, address_of, changes_since, fetch, parse};

    #[test]
    fn answers_of_servers_with_other_prefixes_are_read() {
        let xml = "<?xml version='1.0'?><D:multistatus xmlns:D=\"DAV:\" xmlns:C=\"urn:x\"><D:response>\
                   <D:href>/cal/</D:href><D:propstat><D:prop><D:resourcetype><D:collection/><C:calendar/></D:resourcetype>\
                   <D:sync-token>urn:7</D:sync-token></D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat>\
                   <D:propstat><D:prop><D:getetag/></D:prop><D:status>HTTP/1.1 404 Not Found</D:status></D:propstat>\
                   </D:response><D:response><D:href>/cal/a%20b.ics</D:href><D:propstat><D:prop>\
                   <D:getetag>&quot;1&#34;</D:getetag><C:calendar-data><![CDATA[BEGIN:VCALENDAR\nX:<&]]></C:calendar-data>\
                   <!-- > --></D:prop></D:propstat></D:response></D:multistatus>";
        let event = Resource {
            href: "/cal/a%20b.ics".to_owned(),
            etag: "\"1\"".to_owned(),
            text: Some("BEGIN:VCALENDAR\nX:<&".to_owned()),
            ..Resource::default()
        };
        let found = parse(xml).unwrap();
        assert_eq!((found.resources[0].collection, &found.resources[1]), (true, &event));
        assert_eq!((found.resources[0].failure, found.sync_token.as_deref()), (None, Some("urn:7")));
        assert_eq!(event.version(), "/cal/a b.ics\n\"1\"");
        let whole = Resource { href: "https://example.org/cal/a b.ics".to_owned(), ..event.clone() };
        assert_eq!(address_of(&whole.version()), event.address());
        assert!(fetch(["/a&b"].into_iter()).contains("<d:href>/a&amp;b</d:href>"));
        assert!(changes_since("a<b").contains("<sync-token>a&lt;b</sync-token>"));
    }

    #[test]
    fn an_answer_that_is_not_whole_is_none() {
        let whole = "<multistatus xmlns=\"DAV:\"><response><href>/a</href><status>HTTP/1.1 200 OK</status></response></multistatus>";
        assert!(parse(whole).is_some());
        for end in 0..whole.len() {
            assert_eq!(parse(&whole[..end]), None, "{}", &whole[..end]);
        }
        assert_eq!(parse("<html><body>Log in</body></html>"), None);
        let entities = format!("<!DOCTYPE x [<!ENTITY a 'aaaa'>]>{whole}");
        assert_eq!(parse(&entities), None, "a document type is not read");
    }

    #[test]
    fn a_document_that_takes_the_square_of_its_length_is_not_read() {
        let of = |inner: &str| parse(&format!("<multistatus xmlns=\"DAV:\">{inner}</multistatus>"));
        let attributes = (0..100_000).map(|n| format!(" a{n}='>'")).collect::<Vec<_>>().concat();
        assert_eq!(of(&format!("<response{attributes}/>")), None);
        let nested = (0..20_000).map(|n| format!("<a xmlns:n{n}=\"u{n}\">")).collect::<Vec<_>>().concat();
        assert_eq!(of(&format!("{nested}{}", "</a>".repeat(20_000))), None);
        // Servers name a namespace at each element.
        let named =
            "<response xmlns=\"DAV:\"><href xmlns=\"DAV:\">/a</href><!-- <x> --><![CDATA[<\"]]></response>";
        assert_eq!(of(&named.repeat(1000)).unwrap().resources.len(), 1000);
    }

    #[test]
    fn a_status_that_is_not_success_is_kept() {
        let status = |inner: &str| {
            let xml = format!(
                "<multistatus><response><href>/a</href>{inner}</response><sync-token>t</sync-token></multistatus>"
            );
            parse(&xml).unwrap().resources[0].failure
        };
        assert_eq!(status("<status>HTTP/1.1 404 Not Found</status>"), Some(404));
        assert_eq!(status("<status>HTTP/1.1 507 Insufficient Storage</status>"), Some(507));
        assert_eq!(
            status("<propstat><prop><getetag>1</getetag></prop><status>HTTP/1.1 503 x</status></propstat>"),
            Some(503)
        );
        assert_eq!(status("<status>what</status>"), Some(0));
        assert_eq!(status("<propstat><prop/><status>HTTP/1.1 404 Not Found</status></propstat>"), None);
    }

    proptest! {
        #[test]
        fn any_answer_is_read_or_refused(xml in "(<(/)?(D:)?(multistatus|response|href|x|!--|!\\[CDATA\\[)|>|&(amp|#x41|#);|[a-z]|é){0,30}") {
            let _ = parse(&xml);
        }
    }
}
