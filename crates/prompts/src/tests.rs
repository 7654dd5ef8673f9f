//! The public functions of the crate, on real folders.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Catalogue, Error, Inputs, Prompts};
use adjutant_base::config::folders::Root;
use adjutant_base::config::prompts::PromptsConfig;
use adjutant_host::file_catalogue::{WatcherFault, replaced_watchers};

fn root(label: &str, folder: &Path) -> Root {
    Root { label: label.to_owned(), ..Root::named(folder.to_owned()) }
}

fn prompts_in(roots: Vec<Root>) -> Prompts {
    Prompts::new(&PromptsConfig { roots, ..PromptsConfig::default() })
}

fn prompts_of(folder: &Path) -> Prompts {
    prompts_in(vec![root("here", folder)])
}

fn write(folder: &Path, relative: &str, text: impl AsRef<[u8]>) {
    let file = folder.join(relative);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

fn names(catalogue: &Catalogue) -> Vec<&str> {
    catalogue.prompts.keys().map(String::as_str).collect()
}

/// Problems as `path: message`, sorted.
fn problems(catalogue: &Catalogue) -> Vec<String> {
    let mut all: Vec<_> =
        catalogue.problems.iter().map(|p| format!("{}: {}", p.source.relative, p.message)).collect();
    all.sort();
    all
}

/// Asks as an interface does until the answer is as wanted, at most for the time that a change may take.
fn until(prompts: &Prompts, wanted: impl Fn(&Catalogue) -> bool) -> Arc<Catalogue> {
    let deadline = Instant::now() + Duration::from_secs(2);
    loop {
        let catalogue = prompts.files.ready().unwrap_or_else(|| prompts.files.load());
        if wanted(&catalogue) {
            return catalogue;
        }
        assert!(Instant::now() < deadline, "{:?} {:?}", names(&catalogue), problems(&catalogue));
        std::thread::yield_now();
    }
}

fn expand(prompts: &Prompts, name: &str, text: &str) -> Result<String, Error> {
    prompts.expand(&prompts.files.load(), name, Inputs { text, named: None }).map(|expansion| expansion.text)
}

#[test]
fn bundled_prompts_follow_the_contract() {
    let prompts = prompts_in(vec![Root::bundled()]);
    let catalogue = prompts.files.load();
    assert_eq!(catalogue.problems, []);
    let described = |name: &str| catalogue.prompts[name].description.clone();
    assert_eq!(described("research"), "Research a topic and provide a concise summary with key sources.");
    assert_eq!(described("summarize"), "Summarize provided text into a tight digest with bullets.");
    assert_eq!(
        expand(&prompts, "research", "Example topic").unwrap(),
        "You are a focused researcher. Investigate the topic below and return:\n- A 3-5 sentence summary\n- 3 key findings\n- Source names or links if mentioned in provided context\n\nTopic:\nExample topic"
    );
}

#[test]
fn finds_what_is_a_prompt() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    for file in ["b.md", "a.MD", "team/review.md", "team/deep/x.Md", "with blank.md"] {
        write(here, file, "Body");
    }
    for file in [".hidden.md", ".git/x.md", "notes.txt", "_part.md", "team/_part.jinja", "md", ".md"] {
        write(here, file, "Body");
    }
    let catalogue = prompts_of(here).files.load();
    assert_eq!(names(&catalogue), ["a", "b", "team/deep/x", "team/review", "with blank"]);
    assert_eq!(problems(&catalogue), Vec::<String>::new());
}

#[test]
fn earlier_roots_win() {
    let (project, user) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(project.path(), "a.md", "project");
    write(user.path(), "a.md", "user");
    write(user.path(), "b.md", "user");
    write(user.path(), "B.md", "look-alike");
    write(user.path(), "c.md", "usual");
    write(user.path(), "c.MD", "odd");
    let roots = vec![root("project", project.path()), root("user", user.path())];
    let catalogue = prompts_in(roots).files.load();
    assert_eq!(names(&catalogue), ["B", "a", "b", "c"]);
    assert_eq!(
        (catalogue.prompts["a"].body.as_str(), catalogue.prompts["c"].body.as_str()),
        ("project", "usual")
    );
    let overridden: Vec<_> =
        catalogue.overridden.iter().map(|p| (p.name.as_str(), p.source.root.as_str())).collect();
    assert_eq!(overridden, [("a", "user")]);
    assert_eq!(
        problems(&catalogue),
        [
            "b.md: its name differs from `B` in letter case only",
            "c.MD: it has the same name as `c.md`, which is served"
        ]
    );
}

#[test]
fn aliases_lead_to_their_prompt() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a.md", "---\naliases: [old, b, same]\n---\nA {{input}}");
    write(folder.path(), "b.md", "---\naliases: same\n---\nB");
    let prompts = prompts_of(folder.path());
    assert_eq!(expand(&prompts, "old", "x").unwrap(), "A x");
    assert_eq!(
        problems(&prompts.files.load()),
        [
            "a.md: alias `b` cannot be reached: it is the name of a prompt",
            "b.md: alias `same` cannot be reached: it is an alias of `a` already"
        ]
    );
}

#[test]
fn a_bad_file_hides_no_good_one() {
    let folder = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let here = folder.path();
    write(elsewhere.path(), "secret.md", "secret");
    write(here, "good.md", "Body");
    write(here, "odd.md", "---\nx: [a] [b]\naliases: [one, 'two']\narguments:\n  - name: a\n---\nBody");
    write(here, "broken.md", "---\ndescription: a\nno end");
    write(here, "empty.md", "---\ndescription: a\n---\n  \n");
    write(here, "engine.md", "---\nengine: mustache\n---\nBody");
    write(here, "latin.md", b"caf\xe9");
    write(
        here,
        "lenient.md",
        "---\nargument-hint: [app] [environment]\ndescription: Deploy: fast\n---\nBody",
    );
    fs::File::create(here.join("huge.md")).unwrap().set_len(50 << 20).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        here.join("pipe.md"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(here.join("socket.md")).unwrap();
    symlink(elsewhere.path().join("secret.md"), here.join("out.md")).unwrap();
    symlink(elsewhere.path(), here.join("folder")).unwrap();
    symlink("good.md", here.join("in.md")).unwrap();
    symlink(here.join("good.md"), here.join("in-absolute.md")).unwrap();
    symlink("pipe.md", here.join("to-pipe.md")).unwrap();
    symlink("loop.md", here.join("loop.md")).unwrap();
    symlink("/dev/zero", here.join("zero.md")).unwrap();
    fs::create_dir(here.join("folder.md")).unwrap();
    write(here, "1/2/3/4/5/6/7/8/nine/deep.md", "Body");
    let prompts = prompts_of(here);
    let catalogue = prompts.files.load();
    assert_eq!(names(&catalogue), ["good", "in", "in-absolute", "lenient", "odd"]);
    assert_eq!(catalogue.prompts["odd"].aliases, ["one", "two"]);
    assert_eq!(catalogue.prompts["lenient"].description, "Deploy: fast");
    assert_eq!(catalogue.prompts["lenient"].warnings.len(), 1);
    assert_eq!(
        problems(&catalogue),
        [
            "1/2/3/4/5/6/7/8/nine: the folder is deeper than 8 levels",
            "broken.md: the front matter is not closed by a line of `---`",
            "empty.md: the file has no text besides its front matter",
            "engine.md: unknown engine `mustache`; use literal, args or jinja",
            "folder: it is a link that leaves its root",
            "huge.md: the file has 52428800 bytes, over the limit of 262144",
            "latin.md: the file is not UTF-8",
            "loop.md: it is a link to nothing, or to itself",
            "out.md: it is a link that leaves its root",
            "pipe.md: it is not a regular file",
            "socket.md: it is not a regular file",
            "to-pipe.md: it is a link to something that is not a regular file",
            "zero.md: it is a link that leaves its root",
        ]
    );
    let broken = expand(&prompts, "latin", "").unwrap_err().to_string();
    assert_eq!(broken, "prompt `latin` cannot be read: the file is not UTF-8");
}

#[test]
fn names_are_never_paths() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "secret.md", "secret");
    write(folder.path(), "root/review.md", "Body");
    let prompts = prompts_of(&folder.path().join("root"));
    let long = "x".repeat(1 << 20);
    let absolute = folder.path().join("root/review");
    for name in [
        "../secret",
        "../../etc/passwd",
        "/etc/passwd",
        "",
        "\0",
        "review\0",
        "./review",
        "a/../review",
        &long,
        absolute.to_str().unwrap(),
    ] {
        let error = expand(&prompts, name, "").unwrap_err();
        assert!(matches!(error, Error::Unknown { .. }), "{error}");
        assert!(error.to_string().len() < 400, "{error}");
    }
    assert_eq!(
        expand(&prompts, "reveiw", "").unwrap_err().to_string(),
        "unknown prompt `reveiw`; did you mean `review`?"
    );
}

#[test]
fn a_file_past_the_limit_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..20 {
        write(folder.path(), &format!("{number:02}.md"), "Body");
    }
    let roots = vec![root("here", folder.path())];
    let config = PromptsConfig { roots, max_files: 10, ..PromptsConfig::default() };
    let catalogue = Prompts::new(&config).files.load();
    assert_eq!(names(&catalogue).len(), 10);
    assert_eq!(problems(&catalogue), [": there are more than 10 files; the rest is left out"]);
}

#[test]
fn a_changed_file_shows() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a.md", "one");
    let prompts = prompts_of(folder.path());
    assert_eq!(names(&prompts.files.load()), ["a"]);
    // Same length, and as good as the same time stamp.
    for text in ["two", "six", "ten"] {
        write(folder.path(), "a.md", text);
        until(&prompts, |catalogue| catalogue.prompts["a"].body == text);
    }
    write(folder.path(), "new/b.md", "Body");
    until(&prompts, |catalogue| names(catalogue) == ["a", "new/b"]);
    write(folder.path(), "new/c.md", "Body");
    until(&prompts, |catalogue| names(catalogue) == ["a", "new/b", "new/c"]);
    fs::rename(folder.path().join("new"), folder.path().join("old")).unwrap();
    until(&prompts, |catalogue| names(catalogue) == ["a", "old/b", "old/c"]);
    write(folder.path(), "old/b.md", "changed");
    until(&prompts, |catalogue| catalogue.prompts["old/b"].body == "changed");
    fs::remove_file(folder.path().join("a.md")).unwrap();
    until(&prompts, |catalogue| names(catalogue) == ["old/b", "old/c"]);
}

/// Waits for the watching thread, so that what follows is seen through it and not by the clock.
fn watched(prompts: &Prompts) {
    let deadline = Instant::now() + Duration::from_secs(2);
    while !prompts.files.is_watched() {
        prompts.files.load();
        assert!(Instant::now() < deadline, "the folders are not watched");
        std::thread::yield_now();
    }
}

#[test]
fn watched_folders_are_seen_at_once() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a.md", "one");
    write(folder.path(), "team/b.md", "one");
    let prompts = prompts_of(folder.path());
    for round in 0..3 {
        watched(&prompts);
        for number in 0..5 {
            let text = format!("{round}{number}");
            write(folder.path(), "team/b.md", &text);
            until(&prompts, |catalogue| catalogue.prompts["team/b"].body == text);
        }
        // There and back: the watch must not be lost on the way.
        fs::rename(folder.path().join("team"), folder.path().join(".away")).unwrap();
        fs::rename(folder.path().join(".away"), folder.path().join("team")).unwrap();
    }
    fs::remove_dir_all(folder.path().join("team")).unwrap();
    until(&prompts, |catalogue| names(catalogue) == ["a"]);
    write(folder.path(), "team/c.md", "new");
    until(&prompts, |catalogue| names(catalogue) == ["a", "team/c"]);
    watched(&prompts);
    write(folder.path(), "team/c.md", "newer");
    until(&prompts, |catalogue| catalogue.prompts["team/c"].body == "newer");
}

#[test]
fn without_a_watch_the_clock_serves() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a.md", "one");
    let prompts = prompts_of(folder.path());
    prompts.files.disable_watching();
    assert_eq!(names(&prompts.files.load()), ["a"]);
    assert!(prompts.files.ready().is_some(), "an answer lasts for a while");
    write(folder.path(), "team/b.md", "new");
    until(&prompts, |catalogue| names(catalogue) == ["a", "team/b"]);
    for text in ["two", "six"] {
        write(folder.path(), "a.md", text);
        until(&prompts, |catalogue| catalogue.prompts["a"].body == text);
    }
    fs::remove_dir_all(folder.path()).unwrap();
    until(&prompts, |catalogue| names(catalogue).is_empty());
}

#[test]
fn a_watcher_that_hangs_or_ends_is_replaced_and_the_folders_are_scanned() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a.md", "one");
    let prompts = prompts_of(folder.path());
    let faults =
        [WatcherFault::NotifierHangs, WatcherFault::NotifierPanics, WatcherFault::ThreadPanics].into_iter();
    for (fault, text) in faults.cycle().zip(["two", "six", "ten", "one", "two", "six"]) {
        watched(&prompts);
        let before = replaced_watchers();
        prompts.files.break_watcher(fault);
        write(folder.path(), "a.md", text);
        let began = Instant::now();
        while replaced_watchers() == before {
            prompts.files.load();
            assert!(began.elapsed() < Duration::from_secs(10), "{fault:?} is not noticed");
            std::thread::park_timeout(Duration::from_millis(10));
        }
        until(&prompts, |catalogue| catalogue.prompts["a"].body == text);
    }
}

#[test]
fn listeners_are_told_of_changes_alone() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a.md", "one");
    let prompts = prompts_of(folder.path());
    let mut changes = prompts.files.changes();
    prompts.files.watch();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let mut told = |within: Duration| {
        runtime.block_on(async { tokio::time::timeout(within, changes.changed()).await.is_ok() })
    };
    watched(&prompts);
    assert!(!told(Duration::from_millis(1)), "the first reading is no change");
    write(folder.path(), "a.md", "two");
    assert!(told(Duration::from_secs(2)));
    write(folder.path(), "a.txt", "no prompt");
    write(folder.path(), "b.md", "new");
    assert!(told(Duration::from_secs(2)));
    assert_eq!(names(&prompts.files.load()), ["a", "b"]);
    assert_eq!(prompts.files.load().generation, 3);
}

#[test]
fn the_watching_thread_ends_with_the_catalogue() {
    let folder = tempfile::tempdir().unwrap();
    let prompts = prompts_of(folder.path());
    prompts.files.load();
    watched(&prompts);
    let cache = std::sync::Arc::downgrade(&prompts.files);
    drop(prompts);
    let deadline = Instant::now() + Duration::from_secs(2);
    while cache.strong_count() > 0 {
        assert!(Instant::now() < deadline);
        std::thread::yield_now();
    }
}

#[test]
fn a_root_may_come_and_go() {
    let parent = tempfile::tempdir().unwrap();
    let here = parent.path().join("prompts");
    let prompts = prompts_of(&here);
    assert_eq!(problems(&prompts.files.load()), [": the folder does not exist"]);
    write(&here, "a.md", "one");
    until(&prompts, |catalogue| names(catalogue) == ["a"]);
    fs::rename(&here, parent.path().join("away")).unwrap();
    until(&prompts, |catalogue| {
        names(catalogue).is_empty() && problems(catalogue) == [": the folder does not exist"]
    });
    // Permissions do not bind root, so a file in the folder's place is the unreadable folder.
    fs::write(&here, "a file").unwrap();
    until(&prompts, |catalogue| problems(catalogue) == [": the folder is not a folder"]);
    fs::remove_file(&here).unwrap();
    write(&here, "b.md", "two");
    until(&prompts, |catalogue| names(catalogue) == ["b"]);
    // Swapped for another in one move.
    write(parent.path(), "other/c.md", "three");
    fs::rename(&here, parent.path().join("before")).unwrap();
    fs::rename(parent.path().join("other"), &here).unwrap();
    until(&prompts, |catalogue| names(catalogue) == ["c"]);
    write(&here, "c.md", "four");
    until(&prompts, |catalogue| catalogue.prompts["c"].body == "four");
}

#[test]
fn a_root_may_be_a_link_that_turns() {
    let parent = tempfile::tempdir().unwrap();
    write(parent.path(), "one/a.md", "one");
    write(parent.path(), "two/a.md", "two");
    write(parent.path(), "two/.shared/b.txt", "hidden target");
    symlink(".shared/b.txt", parent.path().join("two/b.md")).unwrap();
    let here = parent.path().join("prompts");
    symlink("one", &here).unwrap();
    let prompts = prompts_of(&here);
    assert_eq!(prompts.files.load().prompts["a"].body, "one");
    watched(&prompts);
    symlink("two", parent.path().join("next")).unwrap();
    fs::rename(parent.path().join("next"), &here).unwrap();
    until(&prompts, |catalogue| catalogue.prompts["a"].body == "two");
    assert_eq!(names(&prompts.files.load()), ["a", "b"]);
    watched(&prompts);
    write(parent.path(), "two/.shared/b.txt", "changed");
    until(&prompts, |catalogue| catalogue.prompts["b"].body == "changed");
}

#[test]
fn the_generation_grows_with_changes_alone() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a.md", "one");
    let prompts = prompts_of(folder.path());
    let first = prompts.files.load().generation;
    write(folder.path(), "a.md", "one");
    write(folder.path(), "b.txt", "not a prompt");
    write(folder.path(), "z.md", "last");
    let second = until(&prompts, |catalogue| catalogue.prompts.contains_key("z"));
    assert_eq!((first, second.generation), (1, 2));
    assert!(Arc::ptr_eq(&prompts.files.load(), &second));
}
