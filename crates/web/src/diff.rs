//! A unified diff as HTML: a bar for each file, the number of each line, and a mark on what differs inside a line.

use std::fmt::Write as _;
use std::ops::Range;

use super::highlight::marked;

/// Returns a unified diff as HTML, an element a line. Nothing is left out but what the bar of a file repeats; a text that is
/// not a diff is shown as it is.
pub(super) fn diff(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut out = Writer { html: String::with_capacity(text.len() * 2), ..Writer::default() };
    let mut rest = &lines[..];
    while let [line, after @ ..] = rest {
        rest = after;
        if let Some(hunk) = Hunk::parse(line) {
            out.line("hunk", "", &marked(line));
            rest = out.hunk(hunk, after);
        } else if let Some(names) = line.strip_prefix("diff --git ") {
            out.file(names.rsplit_once(" b/").map_or(names, |(_, name)| name));
        } else if let (Some(old), [new, after @ ..]) = (line.strip_prefix("--- "), after)
            && let Some(new) = new.strip_prefix("+++ ")
        {
            let name = match (path(old), path(new)) {
                (old, new) if old == new || old == NONE => new.to_owned(),
                (old, NONE) => old.to_owned(),
                (old, new) => format!("{old} → {new}"),
            };
            if name != out.name {
                out.file(&name);
            }
            rest = after;
        } else {
            let kind = match line.bytes().next() {
                Some(b'+') => "added",
                Some(b'-') => "removed",
                _ if out.bar.is_some() && is_index(line) => "index",
                _ if out.bar.is_some() => "meta",
                _ => "same",
            };
            out.line(kind, "", &marked(line));
        }
    }
    out.end_file();
    out.html
}

/// The name of a file that is not there before or after.
const NONE: &str = "/dev/null";

/// Returns the path of a line with a file's name: without the side of the diff, and without a time.
fn path(name: &str) -> &str {
    let name = name.split('\t').next().unwrap_or_default();
    name.strip_prefix("a/").or_else(|| name.strip_prefix("b/")).unwrap_or(name)
}

/// Returns whether a line has only the names of a file's two objects, and its mode: `index 3f1c2aa..9b0e1d4 100644`.
/// Any other text is for the reader.
fn is_index(line: &str) -> bool {
    let Some((objects, mode)) =
        line.strip_prefix("index ").map(|rest| rest.split_once(' ').unwrap_or((rest, "")))
    else {
        return false;
    };
    let is_name =
        |name: &str| (1..=64).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    objects.split_once("..").is_some_and(|(old, new)| is_name(old) && is_name(new))
        && mode.bytes().all(|byte| byte.is_ascii_digit())
}

/// The numbers of a hunk's next lines, and how many are left on each side.
struct Hunk {
    old: u32,
    new: u32,
    old_left: u32,
    new_left: u32,
}

impl Hunk {
    /// Parses `@@ -1,3 +1,4 @@`.
    fn parse(line: &str) -> Option<Self> {
        let (sides, _) = line.strip_prefix("@@ -")?.split_once(" @@")?;
        let (old, new) = sides.split_once(" +")?;
        let side = |text: &str| {
            let (start, count) = text.split_once(',').unwrap_or((text, "1"));
            Some((start.parse().ok()?, count.parse().ok()?))
        };
        let ((old, old_left), (new, new_left)) = (side(old)?, side(new)?);
        Some(Self { old, new, old_left, new_left })
    }
}

#[derive(Default)]
struct Writer {
    html: String,
    /// The offset in the HTML at which the numbers of the open bar's file are inserted.
    bar: Option<usize>,
    name: String,
    added: u32,
    removed: u32,
}

impl Writer {
    /// Opens the bar of a file.
    fn file(&mut self, name: &str) {
        self.end_file();
        name.clone_into(&mut self.name);
        let _ = write!(self.html, "<span class=\"file\">{}", marked(name));
        self.bar = Some(self.html.len());
        self.html.push_str("\n</span>");
    }

    /// Writes the numbers into the bar of a file that ends.
    fn end_file(&mut self) {
        let (added, removed) = (std::mem::take(&mut self.added), std::mem::take(&mut self.removed));
        if let Some(at) = self.bar.take()
            && added + removed > 0
        {
            let numbers = format!(" <i class=\"plus\">+{added}</i> <i class=\"minus\">−{removed}</i>");
            self.html.insert_str(at, &numbers);
        }
    }

    /// Writes a line. The sign of a line with numbers is an element, so that the wrapped text hangs below the text.
    fn line(&mut self, kind: &str, numbers: &str, html: &str) {
        let (sign, text) = html.split_at(if numbers.is_empty() { 0 } else { html.len().min(1) });
        let sign = if sign.is_empty() { String::new() } else { format!("<i>{sign}</i>") };
        let _ = write!(self.html, "<span class=\"{kind}\"{numbers}>{sign}{text}\n</span>");
    }

    /// Writes the lines of a hunk; returns the lines after it.
    fn hunk<'a>(&mut self, mut hunk: Hunk, mut lines: &'a [&'a str]) -> &'a [&'a str] {
        while hunk.old_left + hunk.new_left > 0 {
            let run =
                |sign: char, lines: &[&str]| lines.iter().take_while(|line| line.starts_with(sign)).count();
            let removed = run('-', lines).min(hunk.old_left as usize);
            let added = run('+', &lines[removed..]).min(hunk.new_left as usize);
            if removed + added > 0 {
                let (old, new) = (&lines[..removed], &lines[removed..removed + added]);
                // Lines that replace each other are compared; otherwise it is unknown which belong together.
                let pairs = if removed == added { removed } else { 0 };
                for (at, line) in old.iter().enumerate() {
                    let part = new.get(at).filter(|_| at < pairs).and_then(|new| changed(line, new));
                    self.line("removed", &format!(" data-old=\"{}\"", hunk.old), &with_part(line, part));
                    hunk.old = hunk.old.saturating_add(1);
                }
                for (at, line) in new.iter().enumerate() {
                    let part = old.get(at).filter(|_| at < pairs).and_then(|old| changed(line, old));
                    self.line("added", &format!(" data-new=\"{}\"", hunk.new), &with_part(line, part));
                    hunk.new = hunk.new.saturating_add(1);
                }
                self.removed += u32::try_from(removed).unwrap_or(u32::MAX);
                self.added += u32::try_from(added).unwrap_or(u32::MAX);
                hunk.old_left -= u32::try_from(removed).unwrap_or(hunk.old_left);
                hunk.new_left -= u32::try_from(added).unwrap_or(hunk.new_left);
                lines = &lines[removed + added..];
                continue;
            }
            let [line, after @ ..] = lines else { break };
            // A line of neither kind is one of both sides; an editor may have taken the space of an empty one.
            if !line.is_empty() && !line.starts_with([' ', '\\']) {
                break;
            }
            lines = after;
            if line.starts_with('\\') {
                self.line("meta", "", &marked(line));
                continue;
            }
            self.line(
                "same",
                &format!(" data-old=\"{}\" data-new=\"{}\"", hunk.old, hunk.new),
                &marked(line),
            );
            (hunk.old, hunk.new) = (hunk.old.saturating_add(1), hunk.new.saturating_add(1));
            (hunk.old_left, hunk.new_left) =
                (hunk.old_left.saturating_sub(1), hunk.new_left.saturating_sub(1));
        }
        lines
    }
}

/// Returns the part of a line that differs from its other version, without the sign; `None` if the lines have too little in
/// common for a mark to help.
fn changed(line: &str, other: &str) -> Option<Range<usize>> {
    let (this, that) = (line.get(1..)?, other.get(1..)?);
    let same = |(a, b): &(char, char)| a == b;
    let start: usize =
        this.chars().zip(that.chars()).take_while(same).map(|(letter, _)| letter.len_utf8()).sum();
    let ends = this[start..].chars().rev().zip(that[start..].chars().rev());
    let end: usize = ends.take_while(same).map(|(letter, _)| letter.len_utf8()).sum();
    let common = this[..start].trim().len() + this[this.len() - end..].trim().len();
    let range = 1 + start..line.len() - end;
    (common * 3 > this.trim().len() && !range.is_empty()).then_some(range)
}

/// Returns a line with a mark around a part.
fn with_part(line: &str, part: Option<Range<usize>>) -> String {
    let Some(part) = part else { return marked(line) };
    let [before, inside, after] = [&line[..part.start], &line[part.clone()], &line[part.end..]].map(marked);
    format!("{before}<b>{inside}</b>{after}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};

    use super::diff;

    #[test]
    fn a_change_has_a_bar_numbers_and_marks() {
        let text = "diff --git a/src/tide.rs b/src/tide.rs\nindex 1..2 100644\n--- a/src/tide.rs\n+++ b/src/tide.rs\n\
                    @@ -9,3 +9,4 @@ fn tide()\n let a = 1;\n-let low = by_height(&a);\n+let low = by_time(&a);\n+// sorted\n }\n\
                    \\ No newline at end of file\n--- a/x\n+++ b/y\n@@ -1 +1 @@\n---- old\n++++ new\n";
        let expected = "<span class=\"file\">src/tide.rs <i class=\"plus\">+2</i> <i class=\"minus\">−1</i>\n</span>\
             <span class=\"index\">index 1..2 100644\n</span>\
             <span class=\"hunk\">@@ -9,3 +9,4 @@ fn tide()\n</span>\
             <span class=\"same\" data-old=\"9\" data-new=\"9\"><i> </i>let a = 1;\n</span>\
             <span class=\"removed\" data-old=\"10\"><i>-</i>let low = by_height(&amp;a);\n</span>\
             <span class=\"added\" data-new=\"10\"><i>+</i>let low = by_time(&amp;a);\n</span>\
             <span class=\"added\" data-new=\"11\"><i>+</i>// sorted\n</span>\
             <span class=\"same\" data-old=\"11\" data-new=\"12\"><i> </i>}\n</span>\
             <span class=\"meta\">\\ No newline at end of file\n</span>\
             <span class=\"file\">x → y <i class=\"plus\">+1</i> <i class=\"minus\">−1</i>\n</span>\
             <span class=\"hunk\">@@ -1 +1 @@\n</span>\
             <span class=\"removed\" data-old=\"1\"><i>-</i>--- old\n</span>\
             <span class=\"added\" data-new=\"1\"><i>+</i>+++ new\n</span>";
        assert_eq!(diff(text), expected);
    }

    #[test]
    fn what_differs_inside_a_line_is_marked() {
        let shown = diff("@@ -1 +1 @@\n-let low = by_height(a);\n+let low = by_time(a);\n");
        assert!(shown.contains("<i>-</i>let low = by_<b>height</b>(a);"), "{shown}");
        assert!(shown.contains("<i>+</i>let low = by_<b>time</b>(a);"), "{shown}");
        assert!(!diff("@@ -1 +1 @@\n-old\n+new\n").contains("<b>"), "nothing is common");
    }

    #[test]
    fn a_new_file_and_text_that_is_not_a_diff_are_shown() {
        let shown = diff("--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+one\n");
        assert!(shown.starts_with("<span class=\"file\">new.txt <i class=\"plus\">+1</i>"), "{shown}");
        assert_eq!(diff("{\n}"), "<span class=\"same\">{\n</span><span class=\"same\">}\n</span>");
    }

    #[test]
    fn only_a_line_of_object_names_is_an_index() {
        for (line, class) in [
            ("index 3f1c2aa..9b0e1d4 100644", "index"),
            ("index 0000000..9b0e1d4", "index"),
            ("index 1..2 100644 rm", "meta"),
            ("index of all prices", "meta"),
            ("new file mode 100755", "meta"),
        ] {
            let shown = diff(&format!("diff --git a/x b/x\n{line}\n"));
            assert!(shown.contains(&format!("<span class=\"{class}\">{line}")), "{shown}");
        }
    }

    proptest! {
        #[test]
        fn no_line_is_lost(lines in proptest::collection::vec("[-+ @a<]{0,4}", 0..12), any in any::<String>()) {
            let text = format!("@@ -1,4 +1,4 @@\n{}\n{any}", lines.join("\n"));
            let shown = diff(&text);
            assert!(shown.matches("</span>").count() + 2 >= text.lines().count());
        }
    }
}
