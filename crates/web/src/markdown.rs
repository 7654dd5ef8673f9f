//! Markdown of agents as safe HTML: no raw HTML, no remote images, every link with its whole address.
//!
//! The text is untrusted, and a user decides by it. So everything that Markdown would hide is shown: HTML as text, an
//! image as its text and its address, a link with its address, and at the end the text that the parser reports in no
//! event. Headings are bold text, so that a message cannot imitate a part of the page.

use std::fmt::Write as _;

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use super::diff::diff;
use super::highlight::marked;
use adjutant_base::text::untrusted_markdown::{OPTIONS, Part, hidden, is_diff, parts};

/// Returns a message as HTML. A unified diff in the message, fenced or bare, is shown as a diff.
pub(super) fn html(message: &str) -> String {
    let mut html = String::with_capacity(message.len() * 2);
    for part in parts(message) {
        match part {
            Part::Markdown(text) => markdown(&mut html, text),
            Part::Diff(text) => diff_sheet(&mut html, text),
        }
    }
    html
}

fn diff_sheet(html: &mut String, text: &str) {
    html.push_str(
        "<pre class=\"sheet diff\" tabindex=\"0\" role=\"group\" aria-label=\"A change as a diff\">",
    );
    html.push_str(&diff(text.trim_end_matches('\n')));
    html.push_str("</pre>\n");
}

fn markdown(html: &mut String, text: &str) {
    // The text of a code block, which may turn out to be a diff, and the addresses of the links that are open.
    let mut code: Option<(bool, String)> = None;
    let mut links: Vec<String> = Vec::new();
    let mut in_head = false;
    for event in Parser::new_ext(text, OPTIONS) {
        match event {
            Event::Text(text) => match &mut code {
                Some((_, code)) => code.push_str(&text),
                None => html.push_str(&marked(&text)),
            },
            // HTML is shown as text.
            Event::Code(text) | Event::Html(text) | Event::InlineHtml(text) => {
                let _ = write!(html, "<code>{}</code>", marked(&text));
            }
            Event::SoftBreak => html.push('\n'),
            Event::HardBreak => html.push_str("<br>"),
            Event::Rule => html.push_str("<hr>"),
            Event::TaskListMarker(done) => html.push_str(if done { "☑ " } else { "☐ " }),
            Event::Start(Tag::CodeBlock(kind)) => {
                code = Some((is_diff(&kind), String::new()));
            }
            Event::End(TagEnd::CodeBlock) => {
                let (is_diff, text) = code.take().unwrap_or_default();
                if is_diff {
                    diff_sheet(html, &text);
                } else {
                    html.push_str("<pre class=\"sheet\" tabindex=\"0\" role=\"group\" aria-label=\"Code\">");
                    html.push_str(&marked(text.trim_end_matches('\n')));
                    html.push_str("</pre>\n");
                }
            }
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                links.push(dest_url.into_string());
            }
            Event::End(TagEnd::Link | TagEnd::Image) => {
                let url = links.pop().unwrap_or_default();
                // A link with its address as text needs the address once.
                if let Some(before) = html.strip_suffix(&marked(&url)) {
                    html.truncate(before.len());
                }
                html.push_str(&address(&url));
            }
            Event::Start(tag) => {
                in_head |= tag == Tag::TableHead;
                html.push_str(opening(&tag, in_head));
            }
            Event::End(tag) => {
                html.push_str(closing(tag, in_head));
                in_head &= tag != TagEnd::TableHead;
            }
            // These extensions are off.
            Event::FootnoteReference(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                html.push_str(&marked(&text));
            }
        }
    }
    for text in hidden(text) {
        let _ = writeln!(html, "<p><code>{}</code></p>", marked(&text));
    }
}

/// Returns the whole address of a link. Only a web address of ASCII characters can be opened, because other characters
/// may imitate another address.
fn address(url: &str) -> String {
    let shown = marked(url);
    let is_ascii = url.bytes().all(|byte| byte.is_ascii_graphic());
    if is_ascii && (url.starts_with("https://") || url.starts_with("http://")) {
        format!(
            " <a class=\"address\" href=\"{shown}\" target=\"_blank\" rel=\"noopener noreferrer\">{shown}</a>"
        )
    } else {
        format!(" <code class=\"address\">{shown}</code>")
    }
}

fn opening(tag: &Tag<'_>, in_head: bool) -> &'static str {
    match tag {
        Tag::Paragraph => "<p>",
        Tag::Heading { .. } => "<p class=\"heading\">",
        Tag::BlockQuote(_) => "<blockquote>",
        Tag::List(Some(_)) => "<ol>",
        Tag::List(None) => "<ul>",
        Tag::Item => "<li>",
        Tag::Emphasis => "<em>",
        Tag::Strong => "<strong>",
        Tag::Strikethrough => "<s>",
        Tag::Table(_) => "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"A table\"><table>",
        Tag::TableHead => "<thead><tr>",
        Tag::TableRow => "<tr>",
        Tag::TableCell if in_head => "<th scope=\"col\">",
        Tag::TableCell => "<td>",
        _ => "",
    }
}

fn closing(tag: TagEnd, in_head: bool) -> &'static str {
    match tag {
        TagEnd::Paragraph | TagEnd::Heading(_) => "</p>\n",
        TagEnd::BlockQuote(_) => "</blockquote>\n",
        TagEnd::List(true) => "</ol>\n",
        TagEnd::List(false) => "</ul>\n",
        TagEnd::Item => "</li>\n",
        TagEnd::Emphasis => "</em>",
        TagEnd::Strong => "</strong>",
        TagEnd::Strikethrough => "</s>",
        TagEnd::Table => "</table></div>\n",
        TagEnd::TableHead => "</tr></thead>\n",
        TagEnd::TableRow => "</tr>\n",
        TagEnd::TableCell if in_head => "</th>",
        TagEnd::TableCell => "</td>",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};

    use super::html;
    use adjutant_base::text::escape_invisible::is_invisible;

    #[test]
    fn nothing_of_a_message_acts() {
        let hostile = "# Title\n<script>alert(1)</script>\n\n![pixel](https://evil.test/p.png) [bank](https://evil.test/x \"t\")\n\n\
                       <img src=x onerror=alert(1)>\n\n[j](javascript:alert(1)) <https://evil.test> a\u{202e}b";
        let shown = html(hostile);
        for tag in ["<script", "<img", "<h1", "href=\"javascript"] {
            assert!(!shown.contains(tag), "{tag}: {shown}");
        }
        assert!(shown.contains("bank <a class=\"address\" href=\"https://evil.test/x\""), "{shown}");
        assert!(shown.contains("pixel <a class=\"address\" href=\"https://evil.test/p.png\""), "{shown}");
        assert!(shown.contains("<code class=\"address\">javascript:alert(1)</code>"), "{shown}");
        assert!(shown.contains("U+202E"), "{shown}");
    }

    #[test]
    fn a_diff_is_a_diff_fenced_or_bare() {
        let change = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n";
        for message in [format!("Look:\n\n{change}\n**Good?**"), format!("```diff\n{change}```\n**Good?**")] {
            let shown = html(&message);
            assert!(shown.contains("<span class=\"removed\" data-old=\"1\"><i>-</i>old\n</span>"), "{shown}");
            assert!(shown.contains("<i>+</i>new\n</span>"), "{shown}");
            assert!(shown.contains("<strong>Good?</strong>"), "{shown}");
        }
        assert!(!html("- a\n- b\n\n---\n+ c").contains("diff"), "a list is not a diff");
    }

    #[test]
    fn mutated_messages_are_shown() {
        let corpus = [
            "# Title\n\n- a\n  1. *b* **c** ~~d~~ `e`\n\n| x | y |\n|---|:-:|\n| 1 | <b>2</b> |\n",
            "Look:\n\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n\n```rust\nfn main() {}\n```\n> quote [^1]\n\n[^1]: note",
            "![p](https://example.org/p.png \"t\") [j](javascript:x) <https://example.org> &amp; &#x202e; \\* <!-- x -->",
        ];
        adjutant_base::fuzz::run(&corpus, |message| assert!(!html(message).contains("<script")));
    }

    proptest! {
        #[test]
        fn any_message_is_inert(message in any::<String>(), marks in "[-+<>`*_|!\\[\\]() a\n]{0,80}") {
            for text in [&message, &marks] {
                let shown = html(text);
                assert!(!shown.contains(is_invisible));
                for tag in ["<script", "<img", "<iframe", "<h1"] {
                    assert!(!shown.contains(tag), "{shown}");
                }
            }
        }
    }
}
