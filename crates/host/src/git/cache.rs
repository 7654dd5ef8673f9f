//! Bare repositories that keep what arrived in bundles, so that the next bundle has only what is new.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::{Git, MAX_LISTING_BYTES, blocking};

/// The folder of a cache's references: a file for each commit that a bundle may build on, named after the commit.
const COMMITS: &str = "refs/adjutant/cached";

/// Commits that a cache remembers. The next commit of a repository is nearly always a child of one of the last ones.
const MAX_COMMITS: usize = 16;

/// Packs of a cache before they become one. Git searches an object in every pack.
const MAX_PACKS: usize = 50;

impl Git {
    /// Adds a bundle with `commit` to the cache `place`, which is made if it is new. `bundle` is `None` if the cache
    /// has the commit already. The error is a sentence fragment.
    pub async fn cache_bundle(
        &self,
        place: &Path,
        bundle: Option<&Path>,
        commit: &str,
    ) -> Result<(), String> {
        if !place.join("HEAD").exists() {
            fs::create_dir_all(place).map_err(|error| error.to_string())?;
            let init = ["init", "--quiet", "--bare", "--template=", object_format(commit)];
            self.ask(place, &init, &[], b"", MAX_LISTING_BYTES).await?;
        }
        if let Some(bundle) = bundle {
            let unbundle: [OsString; 3] = ["bundle".into(), "unbundle".into(), bundle.into()];
            self.ask(place, &unbundle, &[], b"", MAX_LISTING_BYTES).await?;
        }
        let check = ["cat-file", "-e", &format!("{commit}^{{commit}}")];
        self.ask(place, &check, &[], b"", MAX_LISTING_BYTES).await?;
        let (folder, commit) = (place.join(COMMITS), commit.to_owned());
        blocking(move || remember(&folder, &commit).map_err(|error| error.to_string())).await
    }

    /// Removes the least recently used caches below `folder`, until the rest has at most `limit` bytes. The cache
    /// `kept` stays, and its packs become one if they are more than `MAX_PACKS`. No cache may be in use meanwhile.
    pub async fn tidy_caches(&self, folder: &Path, kept: &Path, limit: u64) -> Result<(), String> {
        if packs(kept).len() > MAX_PACKS {
            self.ask(kept, &["repack", "-a", "-d", "-q"], &[], b"", MAX_LISTING_BYTES).await?;
        }
        let (folder, kept) = (folder.to_owned(), kept.to_owned());
        blocking(move || {
            prune(&folder, &kept, limit);
            Ok(())
        })
        .await
    }

    /// Makes a repository with the HEAD `commit` in the new folder `place`, from the cache `cache`. No file is checked
    /// out, because the task gets a worktree of it. The objects are copies, because an agent in the new repository may
    /// change its files.
    pub async fn clone_cache(&self, cache: &Path, commit: &str, place: &Path) -> Result<(), String> {
        fs::create_dir_all(place).map_err(|error| error.to_string())?;
        let init = ["init", "--quiet", "--template=", object_format(commit)];
        self.ask(place, &init, &[], b"", MAX_LISTING_BYTES).await?;
        let (from, to, line) = (cache.to_owned(), place.join(".git"), format!("{commit}\n"));
        blocking(move || {
            let copy = || {
                let target = to.join("objects/pack");
                fs::create_dir_all(&target)?;
                for pack in packs(&from) {
                    for file in [pack.with_extension("idx"), pack] {
                        fs::copy(&file, target.join(file.file_name().unwrap_or_default()))?;
                    }
                }
                fs::write(to.join("HEAD"), line)
            };
            copy().map_err(|error| error.to_string())
        })
        .await
    }
}

/// Returns the commits of the caches below `folder` whose names begin with `start`.
pub fn cached_commits(folder: &Path, start: &str) -> Vec<String> {
    let of_hub = caches(folder).into_iter().filter(|cache| file_name(cache).starts_with(start));
    of_hub.flat_map(|cache| entries(&cache.join(COMMITS))).map(|commit| file_name(&commit)).collect()
}

fn prune(folder: &Path, kept: &Path, limit: u64) {
    let mut found: Vec<(SystemTime, PathBuf, u64)> = caches(folder)
        .into_iter()
        .map(|cache| (used(&cache), cache.clone(), packs(&cache).iter().map(|pack| bytes(pack)).sum()))
        .collect();
    found.sort();
    let mut total: u64 = found.iter().map(|(_, _, bytes)| bytes).sum();
    for (_, cache, bytes) in found {
        if total > limit && cache != kept {
            let _ = fs::remove_dir_all(&cache);
            total -= bytes;
        }
    }
}

fn object_format(commit: &str) -> &'static str {
    if commit.len() == 64 { "--object-format=sha256" } else { "--object-format=sha1" }
}

/// Writes the reference of a commit, or renews its time, and removes the oldest references over [`MAX_COMMITS`].
fn remember(folder: &Path, commit: &str) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    fs::write(folder.join(commit), format!("{commit}\n"))?;
    let mut known: Vec<(SystemTime, PathBuf)> =
        entries(folder).into_iter().map(|file| (modified(&file), file)).collect();
    known.sort();
    let count = known.len().saturating_sub(MAX_COMMITS);
    for (_, file) in known.into_iter().take(count) {
        fs::remove_file(file)?;
    }
    Ok(())
}

/// Returns when a cache got its last commit.
fn used(cache: &Path) -> SystemTime {
    let commits = entries(&cache.join(COMMITS));
    commits.iter().map(|commit| modified(commit)).max().unwrap_or(SystemTime::UNIX_EPOCH)
}

fn caches(folder: &Path) -> Vec<PathBuf> {
    entries(folder).into_iter().filter(|cache| cache.join("HEAD").exists()).collect()
}

fn packs(cache: &Path) -> Vec<PathBuf> {
    let files = entries(&cache.join("objects/pack")).into_iter();
    files.filter(|file| file.extension() == Some(OsStr::new("pack"))).collect()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

fn modified(file: &Path) -> SystemTime {
    file.metadata().and_then(|found| found.modified()).unwrap_or(SystemTime::UNIX_EPOCH)
}

fn bytes(file: &Path) -> u64 {
    file.metadata().map_or(0, |found| found.len())
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
