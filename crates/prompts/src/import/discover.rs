//! Where foreign prompt files are: a file, a folder of them, or a workspace with several such folders.

use std::fs;
use std::path::{Path, PathBuf};

use super::super::Limits;
use super::super::formats::Format;
use super::error::Error;
use super::folder_scan::{FolderScan, ForeignFile};
use adjutant_host::file_catalogue::{leaves, read_text};

/// Finds the foreign prompt files at `from`, in the order of their paths. Without a format, the path says which it
/// is, and then the content.
pub fn find(from: &Path, format: Option<Format>, limits: Limits) -> Result<Vec<ForeignFile>, Error> {
    let path = || from.to_owned();
    let kind =
        fs::metadata(from).map_err(|error| Error::Unreadable { path: path(), reason: error.to_string() })?;
    let lone = |file: PathBuf, format| {
        let name = lone_name(&file, format);
        vec![ForeignFile { file, format, name, fault: None }]
    };
    if !kind.is_dir() {
        let format = format.or_else(|| format_of(from)).or_else(|| sniff(from, limits));
        let format = format.ok_or_else(|| Error::Unclear { path: path() })?;
        return Ok(lone(path(), format));
    }
    let mut folder_scan = FolderScan::new(from, limits)?;
    let formats: &[Format] = format.as_ref().map_or(Format::ALL, std::slice::from_ref);
    for format in formats {
        for folder in known_folders(from, *format) {
            folder_scan.collect(&folder, *format, format.suffix())?;
        }
    }
    if folder_scan.is_empty() {
        let format = match format {
            Some(format) => format,
            None => format_of_folder(from)
                .or_else(|| look_inside(from, limits))
                .ok_or_else(|| Error::Unclear { path: path() })?,
        };
        let entry = from.join(format.suffix().trim_start_matches('/'));
        if format.suffix().starts_with('/') && entry.is_file() {
            return Ok(lone(entry, format));
        }
        folder_scan.collect(from, format, format.suffix())?;
        // A person who says what the files are, or the files themselves, count for more than their names.
        if folder_scan.is_empty() && format == Format::Copilot {
            folder_scan.collect(from, format, ".md")?;
        }
        if folder_scan.is_empty() {
            return Err(Error::Nothing { path: path(), format });
        }
    }
    Ok(folder_scan.found())
}

/// Returns the format that a file's path speaks of: its name, or the folder it is in.
pub(crate) fn format_of(file: &Path) -> Option<Format> {
    match file.file_name()?.to_str()? {
        "SKILL.md" => Some(Format::ClaudeSkill),
        "system.md" => Some(Format::Fabric),
        name if name.ends_with(".prompt.md") => Some(Format::Copilot),
        // Other files of a skill's folder are not skills.
        _ => format_of_folder(file.parent()?).filter(|format| !format.suffix().starts_with('/')),
    }
}

/// Returns the format of the files in a folder, if its path is one that only that program uses.
fn format_of_folder(folder: &Path) -> Option<Format> {
    let path = std::path::absolute(folder).ok()?;
    let parts: Vec<&str> = path.components().filter_map(|part| part.as_os_str().to_str()).collect();
    // `patterns` is too common a word to decide by it alone.
    let mut formats = Format::ALL.iter().copied().filter(|format| *format != Format::Fabric);
    formats.find(|format| {
        format.folders().iter().any(|folder| {
            let (outer, inner) = folder.split_once('/').unwrap_or(("", folder));
            parts.windows(2).any(|pair| pair == [outer, inner])
        })
    })
}

/// Returns the folders of a format that a workspace, a home, or the outer half of such a folder holds.
fn known_folders(from: &Path, format: Format) -> Vec<PathBuf> {
    let absolute = std::path::absolute(from).unwrap_or_else(|_| from.to_owned());
    // `absolute` keeps `..`, and `.` has no name: only real names count.
    let last = absolute.file_name().and_then(std::ffi::OsStr::to_str);
    let mut folders = Vec::new();
    for folder in format.folders() {
        folders.push(from.join(folder));
        if let Some((outer, inner)) = folder.split_once('/')
            && last == Some(outer)
        {
            folders.push(from.join(inner));
        }
    }
    folders.retain(|folder| folder.is_dir());
    folders
}

/// Returns the name of a file that was given alone.
fn lone_name(file: &Path, format: Format) -> String {
    let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    let named = if format.suffix().starts_with('/') { file.parent().unwrap_or(&file) } else { &file };
    let name = named.file_name().unwrap_or_default().to_string_lossy().into_owned();
    // Subfolders of commands belong to the name, also when one file is picked.
    let outer: Vec<String> = match format.folders().first().and_then(|folder| folder.rsplit('/').next()) {
        Some(inner) if format.nested() => {
            let parts: Vec<String> = file
                .parent()
                .into_iter()
                .flat_map(Path::components)
                .map(|part| part.as_os_str().to_string_lossy().into_owned())
                .collect();
            let at = parts.iter().rposition(|part| part == inner);
            at.map(|at| parts[at + 1..].to_vec()).unwrap_or_default()
        }
        _ => Vec::new(),
    };
    let name =
        name.strip_suffix(format.suffix()).or_else(|| name.strip_suffix(".md")).unwrap_or(&name).to_owned();
    outer.into_iter().chain([name]).collect::<Vec<_>>().join("/")
}

/// Tells the format of a folder by what lies in it.
fn look_inside(folder: &Path, limits: Limits) -> Option<Format> {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    entries.sort();
    for format in [Format::ClaudeSkill, Format::Fabric] {
        let file = format.suffix().trim_start_matches('/');
        if folder.join(file).is_file() || entries.iter().any(|entry| entry.join(file).is_file()) {
            return Some(format);
        }
    }
    entries
        .iter()
        .filter(|entry| entry.is_file() && !leaves(folder, entry))
        .find_map(|entry| format_of(entry).or_else(|| sniff(entry, limits)))
}

/// Tells the format of a Markdown file by what is written in it.
fn sniff(file: &Path, limits: Limits) -> Option<Format> {
    let text = read_text(file, limits.file).ok()?;
    let parsed = adjutant_base::text::front_matter::parse(&text).ok()?;
    let has = |key: &str| parsed.values.contains_key(key);
    if text.contains("${input:") || has("mode") || has("agent") || has("tools") {
        return Some(Format::Copilot);
    }
    if has("allowed-tools") || has("disable-model-invocation") || parsed.body.contains("!`") {
        return Some(Format::Claude);
    }
    if has("argument-hint") || parsed.body.contains("$ARGUMENTS") {
        return Some(Format::Claude);
    }
    None
}

/// Counts the other entries of the folder of a `SKILL.md`.
pub(super) fn others(folder: &Path) -> usize {
    fs::read_dir(folder).map_or(0, |entries| {
        entries.filter_map(Result::ok).filter(|entry| entry.file_name() != "SKILL.md").count()
    })
}
