//! The search for foreign prompt files: in a file, a folder of them, or a workspace with several such folders.

use std::fs;
use std::path::{Path, PathBuf};

use super::super::Limits;
use super::super::formats::{self, Format};
use super::error::Error;
use super::folder_scan::{FolderScan, ForeignFile, Found};
use adjutant_host::file_catalogue::{is_documentation, leaves, matching_folders, read_text, subfolders};

/// Finds the foreign prompt files at `from`, in the order of their paths. Without a format, the path decides it, and
/// then the content.
pub fn find(from: &Path, format: Option<Format>, limits: Limits) -> Result<Found, Error> {
    let path = || from.to_owned();
    let unreadable = |error: std::io::Error| Error::Unreadable { path: path(), reason: error.to_string() };
    let kind = fs::metadata(from).map_err(unreadable)?;
    let lone = |file: PathBuf, format| {
        let name = lone_name(&file, format);
        Found { files: vec![ForeignFile { file, format, name, fault: None }], ..Found::default() }
    };
    if !kind.is_dir() {
        let format = format.or_else(|| format_of(from)).or_else(|| sniff(from, limits));
        let format = format.ok_or_else(|| Error::Unclear { path: path() })?;
        return Ok(lone(path(), format));
    }
    fs::read_dir(from).map_err(unreadable)?;
    let absolute = std::path::absolute(from).unwrap_or_else(|_| from.to_owned());
    // In `~/.claude`, a link may lead as far as in `~`.
    let is_outer = |format: &Format| {
        let mut outers = format.folders().iter().filter_map(|folder| folder.split_once('/'));
        outers.any(|(outer, _)| absolute.ends_with(outer))
    };
    let top = absolute.parent().filter(|_| Format::ALL.iter().any(is_outer)).unwrap_or(from);
    let mut folder_scan = FolderScan::new(top, limits)?;
    // `*.prompt.md` is more than `*.md`, so that Copilot comes before Claude.
    let copilot_first = std::iter::once(Format::Copilot).chain(Format::ALL.iter().copied());
    for format in copilot_first.filter(|known| format.is_none_or(|format| format == *known)) {
        for (folder, space) in known_folders(from, format) {
            folder_scan.collect(&folder, (format, format.suffix(), &space))?;
        }
    }
    if folder_scan.is_empty() {
        let format = format.or_else(|| format_of_folder(from)).or_else(|| look_inside(from, limits));
        let Some(format) = format else {
            sniff_subfolders(from, limits, &mut folder_scan)?;
            return Some(folder_scan)
                .filter(|scan| !scan.is_empty())
                .map(FolderScan::found)
                .ok_or_else(|| Error::Unclear { path: path() });
        };
        let entry = from.join(format.suffix().trim_start_matches('/'));
        if format.suffix().starts_with('/') && entry.is_file() {
            return Ok(lone(entry, format));
        }
        folder_scan.collect(from, (format, format.suffix(), ""))?;
        // The format that the user names, and the content of the files, count for more than their names.
        if folder_scan.is_empty() && format == Format::Copilot {
            folder_scan.collect(from, (format, ".md", ""))?;
        }
        if folder_scan.is_empty() {
            return Err(Error::Nothing { path: path(), format });
        }
    }
    Ok(folder_scan.found())
}

/// Returns the format of a file by its path: by its name, or by the folder that it is in.
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

/// Returns the folders of a format that a workspace, a home, the outer half of such a folder, or a repository that
/// publishes prompts has, each with what the names of its files begin with.
fn known_folders(from: &Path, format: Format) -> Vec<(PathBuf, String)> {
    let absolute = std::path::absolute(from).unwrap_or_else(|_| from.to_owned());
    // `absolute` keeps `..`, and `.` has no name: only real names count.
    let last = absolute.file_name().and_then(std::ffi::OsStr::to_str);
    let mut folders = Vec::new();
    for folder in format.folders() {
        folders.push((from.join(folder), String::new()));
        if let Some((outer, inner)) = folder.split_once('/')
            && last == Some(outer)
        {
            folders.push((from.join(inner), String::new()));
        }
    }
    for pattern in format.published() {
        folders.extend(matching_folders(from, pattern).into_iter().map(|folder| {
            let plugin =
                folder.parent().filter(|_| pattern.starts_with("plugins/")).and_then(Path::file_name);
            let space = plugin.map_or(String::new(), |name| format!("{}/", name.to_string_lossy()));
            (folder, space)
        }));
    }
    folders.retain(|(folder, _)| folder.is_dir());
    folders
}

/// Adds the files in the folders of a repository that names them after its topics: those that say by themselves which
/// program they are for.
fn sniff_subfolders(from: &Path, limits: Limits, scan: &mut FolderScan) -> Result<(), Error> {
    // Agents look like prompts of several programs.
    for folder in subfolders(from).into_iter().filter(|folder| !folder.ends_with("agents")) {
        let space = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let entries = fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok);
        for file in entries.map(|entry| entry.path()).filter(|path| path.is_file() && !leaves(from, path)) {
            match Some(&file).filter(|file| may_be_sniffed(file)).and_then(|file| sniff(file, limits)) {
                Some(format) => {
                    let name = lone_name(&file, format);
                    let name = if format.nested() { format!("{space}/{name}") } else { name };
                    scan.add(file, format, name)?;
                }
                None => scan.pass_over(file),
            }
        }
    }
    Ok(())
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

/// Returns the format of a folder by the files in it.
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
        .filter(|entry| may_be_sniffed(entry) && !leaves(folder, entry))
        .find_map(|entry| format_of(entry).or_else(|| sniff(entry, limits)))
}

/// Returns whether a file that the user did not name can be a prompt of an unknown format.
fn may_be_sniffed(file: &Path) -> bool {
    let is_text = file.extension().is_some_and(|extension| extension == "md" || extension == "toml");
    is_text && file.is_file() && !is_documentation(file)
}

/// Returns the format of a file by its content.
fn sniff(file: &Path, limits: Limits) -> Option<Format> {
    let text = read_text(file, limits.file).ok()?;
    if file.extension().is_some_and(|extension| extension == "toml") {
        return formats::is_gemini_command(&text).then_some(Format::Gemini);
    }
    let parsed = adjutant_base::text::front_matter::parse(&text).ok()?;
    let has = |key: &str| parsed.values.contains_key(key);
    if text.contains("${input:") || has("mode") || has("agent") || has("tools") {
        return Some(Format::Copilot);
    }
    if has("allowed-tools") || has("disable-model-invocation") || parsed.body.contains("!`") {
        return Some(Format::Claude);
    }
    let model = parsed.values.get("model").and_then(serde_json::Value::as_str).unwrap_or_default();
    let is_claude = model.starts_with("claude") || matches!(model, "sonnet" | "opus" | "haiku");
    if has("argument-hint") || is_claude || parsed.body.contains("$ARGUMENTS") {
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
