//! Files that the user adds to an answer: bounded in size and number, named and typed by the hub.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use super::Questions;
use super::error::Error;
use super::outcome::{AnswerFile, MAX_FILE_BYTES, MAX_FILES, Outcome};
use super::question::Ticket;
use adjutant_store::questions;

/// Maximum bytes of a name, which is also the name of a file on disk.
const MAX_NAME_BYTES: usize = 120;

/// The name of a file whose own name says nothing.
const NAMELESS: &str = "file";

/// A file as an interface takes it from the user.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewFile {
    /// As the user's program names it; may be a path.
    pub name: String,
    /// The bytes as base64.
    contents: String,
}

impl NewFile {
    /// Makes a file with this name and these bytes.
    pub fn new(name: &str, bytes: &[u8]) -> Self {
        Self { name: name.to_owned(), contents: STANDARD.encode(bytes) }
    }
}

/// Shows no contents.
impl std::fmt::Debug for NewFile {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "NewFile({:?})", self.name)
    }
}

/// A file of an answer with its contents.
#[derive(Clone, PartialEq, Eq)]
pub struct StoredFile {
    pub info: AnswerFile,
    /// The bytes as base64.
    pub contents: String,
}

impl StoredFile {
    /// Returns the bytes.
    pub fn bytes(&self) -> Result<Vec<u8>, Error> {
        let broken = |_| Error::BrokenFile { name: self.info.name.clone() };
        STANDARD.decode(&self.contents).map_err(broken)
    }
}

/// Shows no contents.
impl std::fmt::Debug for StoredFile {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "StoredFile({:?})", self.info)
    }
}

/// Checks the files of an answer; returns what the outcome says of them, and their contents as base64.
pub(super) fn check(files: Vec<NewFile>) -> Result<(Vec<AnswerFile>, Vec<String>), Error> {
    if files.len() > MAX_FILES {
        return Err(Error::TooManyFiles { count: files.len() });
    }
    let mut kept: Vec<AnswerFile> = Vec::new();
    let mut contents = Vec::new();
    for file in files {
        let broken = || Error::BrokenFile { name: file.name.clone() };
        let bytes = STANDARD.decode(&file.contents).map_err(|_| broken())?;
        let name = name(&file.name);
        if bytes.len() > MAX_FILE_BYTES {
            return Err(Error::LargeFile { name, bytes: bytes.len() });
        }
        if bytes.is_empty() {
            return Err(Error::EmptyFile { name });
        }
        let is_taken = |name: &str| kept.iter().any(|other| other.name == name);
        let numbers = (2_usize..).map(|number| numbered(&name, number));
        let unique = std::iter::once(name.clone()).chain(numbers).find(|name| !is_taken(name));
        kept.push(AnswerFile {
            name: unique.unwrap_or(name),
            media_type: media_type(&bytes).to_owned(),
            size: bytes.len() as u64,
        });
        contents.push(file.contents);
    }
    Ok((kept, contents))
}

/// Returns a name that is one part of a path and can be read: without folders, control characters and a dot in front.
fn name(given: &str) -> String {
    let last = given.rsplit(['/', '\\']).next().unwrap_or_default();
    let plain: String = last
        .chars()
        .map(|letter| if letter.is_control() || "<>:\"|?*".contains(letter) { '_' } else { letter })
        .filter(|letter| !adjutant_base::text::escape_invisible::is_invisible(*letter))
        .collect();
    let plain = plain.trim().trim_start_matches('.');
    if plain.is_empty() {
        return NAMELESS.to_owned();
    }
    if plain.len() <= MAX_NAME_BYTES {
        return plain.to_owned();
    }
    // The extension is kept, because it names the type of the file.
    let (stem, extension) = parts(plain);
    let extension = if extension.len() > 16 { "" } else { extension };
    let room = MAX_NAME_BYTES - extension.len();
    format!("{}{extension}", &stem[..stem.floor_char_boundary(room)])
}

fn numbered(name: &str, number: usize) -> String {
    let (stem, extension) = parts(name);
    format!("{stem}-{number}{extension}")
}

/// Returns the name and its extension with the dot.
fn parts(name: &str) -> (&str, &str) {
    name.rfind('.').filter(|at| *at > 0).map_or((name, ""), |at| name.split_at(at))
}

/// Returns the type of a file by its first bytes, which a name cannot change.
fn media_type(bytes: &[u8]) -> &'static str {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => "image/png",
        [0xff, 0xd8, 0xff, ..] => "image/jpeg",
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => "image/gif",
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => "image/webp",
        [b'%', b'P', b'D', b'F', b'-', ..] => "application/pdf",
        _ if std::str::from_utf8(bytes).is_ok_and(|text| !text.contains('\0')) => "text/plain",
        _ => "application/octet-stream",
    }
}

impl Questions {
    /// Returns a file of an answer by its number.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownFile`] if the question is not answered, or its answer has no such file.
    pub async fn file(&self, ticket: &Ticket, number: usize) -> Result<StoredFile, Error> {
        let unknown = || Error::UnknownFile { ticket: ticket.to_string(), number };
        let question = self.get(ticket).await?;
        let files = question.state.decision().map_or(&[][..], |(_, outcome): (_, &Outcome)| &outcome.files);
        let info = files.get(number).cloned().ok_or_else(unknown)?;
        let row = i64::try_from(number).map_err(|_| unknown())?;
        let contents = questions::file(&self.core.store, ticket.as_str(), row).await?.ok_or_else(unknown)?;
        Ok(StoredFile { info, contents })
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_NAME_BYTES, NewFile, check, name};
    use crate::{Error, MAX_FILE_BYTES, MAX_FILES};

    #[test]
    fn names_are_one_readable_part_of_a_path() {
        for (given, wanted) in [
            ("shot.png", "shot.png"),
            ("/etc/passwd", "passwd"),
            ("C:\\work\\shot.png", "shot.png"),
            ("../..", "file"),
            (".bashrc", "bashrc"),
            ("a\u{202e}gnp.exe", "agnp.exe"),
            ("two\nlines", "two_lines"),
            ("", "file"),
        ] {
            assert_eq!(name(given), wanted, "{given:?}");
        }
        let long = name(&format!("{}.png", "ü".repeat(200)));
        assert!(long.len() <= MAX_NAME_BYTES && long.ends_with("ü.png"), "{long}");
    }

    #[test]
    fn files_are_typed_by_their_contents_and_have_different_names() {
        let png = b"\x89PNG\r\n\x1a\nrest";
        let files = [("a.txt", &png[..]), ("a.txt", b"text"), ("a.txt", b"\xff\x00"), ("b", b"%PDF-1.7")];
        let (kept, contents) = check(files.map(|(name, bytes)| NewFile::new(name, bytes)).to_vec()).unwrap();
        let kept: Vec<_> =
            kept.iter().map(|file| (file.name.as_str(), file.media_type.as_str(), file.size)).collect();
        assert_eq!(
            kept,
            [
                ("a.txt", "image/png", 12),
                ("a-2.txt", "text/plain", 4),
                ("a-3.txt", "application/octet-stream", 2),
                ("b", "application/pdf", 8),
            ]
        );
        assert_eq!(contents.len(), 4);
    }

    #[test]
    fn too_many_empty_and_large_files_are_rejected() {
        let file = |bytes: usize| NewFile::new("a", &vec![b'x'; bytes]);
        assert!(check(vec![file(MAX_FILE_BYTES); MAX_FILES]).is_ok());
        let refused = |files| check(files).unwrap_err();
        assert!(matches!(refused(vec![file(1); MAX_FILES + 1]), Error::TooManyFiles { count: 6 }));
        assert!(matches!(refused(vec![file(MAX_FILE_BYTES + 1)]), Error::LargeFile { .. }));
        assert!(matches!(refused(vec![file(0)]), Error::EmptyFile { .. }));
    }
}
