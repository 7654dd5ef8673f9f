//! The hub's git starts nothing that a workspace names, in any key of git's configuration, attribute or hook.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use serde_json::json;

use crate::support::DEADLINE;
use crate::support::serving::Serving;
use crate::support::task_fixture::TaskFixture;

/// The names of githooks(5).
const HOOKS: &[&str] = &[
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "post-applypatch",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-receive",
    "post-rewrite",
    "post-update",
    "pre-applypatch",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "pre-receive",
    "prepare-commit-msg",
    "proc-receive",
    "push-to-checkout",
    "reference-transaction",
    "sendemail-validate",
    "update",
];

const ATTRIBUTES: &str = "* filter=evil diff=evil merge=evil text eol=crlf\n";

/// Every key that the installed git knows, each with `program` as its value. Keys of a format would only make git give
/// up early.
fn every_key(program: &str, included: &Path) -> String {
    let listed = Command::new("git").args(["help", "--config"]).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let mut text = String::new();
    let mut programs = 0;
    for key in listed.lines().filter(|key| key.contains('.') && !key.contains(' ')) {
        let (section, rest) = key.split_once('.').unwrap();
        let (subsection, name) = rest.rsplit_once('.').unwrap_or(("", rest));
        let name = if name.contains(['*', '<']) { "evil" } else { name };
        if section == "extensions" || name.eq_ignore_ascii_case("repositoryFormatVersion") {
            continue;
        }
        let header = match subsection {
            "" => format!("[{section}]"),
            _ => format!("[{section} \"{}\"]", if subsection.starts_with('<') { "evil" } else { subsection }),
        };
        programs += usize::from(["filter", "diff", "merge"].contains(&section) && subsection == "<driver>");
        text += &format!("{header}\n\t{name} = {program}\n");
    }
    assert!(programs > 8, "git lists its keys in another way: {listed}");
    for driver in ["clean", "smudge", "process", "required"] {
        text += &format!("[filter \"evil\"]\n\t{driver} = {program}\n");
    }
    let path = included.display();
    text += &format!("[submodule \"sub\"]\n\tupdate = !{program}\n[include]\n\tpath = {path}\n");
    text + &format!("[includeIf \"gitdir:**\"]\n\tpath = {path}\n[extensions]\n\tworktreeConfig = true\n")
}

/// Plants the program wherever git could find it below a git directory.
fn plant(git_dir: &Path, config: &str, program: &Path) {
    let add = |file: &str, text: &str| {
        let file = git_dir.join(file);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        let before = std::fs::read_to_string(&file).unwrap_or_default();
        std::fs::write(file, before + text).unwrap();
    };
    add("config", config);
    add("config.worktree", config);
    add("info/attributes", ATTRIBUTES);
    for hook in HOOKS {
        let hook = git_dir.join("hooks").join(hook);
        std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
        std::fs::copy(program, hook).unwrap();
    }
}

#[test]
fn no_configuration_attribute_or_hook_starts_a_program() {
    let fixture = TaskFixture::new();
    fixture.home.write("work/.gitattributes", ATTRIBUTES);
    fixture.home.write("origin/.gitattributes", ATTRIBUTES);
    fixture.commit_with_submodule();
    fixture.home.write("other/o.txt", "other\n");
    fixture.git_in("other", &["init", "--quiet"]);
    fixture.git_in("other", &["add", "."]);
    fixture.git_in("other", &["commit", "--quiet", "-m", "other"]);
    let marker = fixture.folder("marker");
    let program =
        fixture.home.write("evil", format!("#!/bin/sh\necho \"$0 $*\" >>{}\nexec cat\n", marker.display()));
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    fixture.home.write("included", format!("[filter \"evil\"]\n\tclean = {}\n", program.display()));
    let config = every_key(program.to_str().unwrap(), &fixture.folder("included"));
    fixture.home.write("work/nested/n.txt", "nested\n");
    fixture.git_in("work/nested", &["init", "--quiet"]);
    fixture.git_in("work/nested", &["add", "."]);
    fixture.git_in("work/nested", &["commit", "--quiet", "-m", "nested"]);
    for git_dir in ["work/.git", "work/.git/modules/sub", "work/nested/.git", "other/.git"] {
        plant(&fixture.folder(git_dir), &config, &program);
    }
    let alternates = format!("{}\n", fixture.folder("other/.git/objects").display());
    fixture.home.write("work/.git/objects/info/alternates", alternates);
    // A new time makes git read the file again, through its filter.
    fixture.home.write("work/README.md", "An empty project.\n");
    fixture.home.write("work/sub/s.txt", "sub\n");

    // Nor does a folder of the workspace on the `PATH` of the hub.
    std::fs::copy(&program, fixture.folder("work/git")).unwrap();
    let mut command = fixture.adjutant(&[]);
    command.env("PATH", format!(".::{}", std::env::var("PATH").unwrap()));
    let hub = Serving::open_hub_of(command, &fixture.home);
    let mut peer = fixture.connect();
    peer.initialize("2025-11-25");
    let look = |folder: &str| {
        let params =
            json!({"workspacePath": fixture.folder(folder), "title": "T", "message": "M", "options": []});
        let request = json!({"jsonrpc": "2.0", "id": "a", "method": "triggerPopup", "params": params});
        hub.post("/mcp/popup", &request.to_string());
        let list = hub.page("/questions");
        let at = list.rfind("/questions/q").unwrap_or_else(|| panic!("{list}"));
        let page = list[at..].split('"').next().unwrap().to_owned();
        let end = Instant::now() + DEADLINE;
        while !hub.page(&page).contains("class=\"branch\"") {
            assert!(Instant::now() < end, "{}", hub.page(&page));
        }
    };
    look("work");
    for (id, isolation) in [(1, "none"), (2, "worktree")] {
        let mut task = fixture.task(&format!("touch made-{isolation}.txt"));
        task["isolation"] = json!(isolation);
        let result = peer.delegate_and_wait(id, task);
        assert_eq!(result["status"], "succeeded", "{result:#}");
        let files = &result["run_report"]["repository"]["files"];
        let file = json!([{"path": format!("made-{isolation}.txt"), "insertions": 1, "deletions": 0}]);
        assert_eq!(*files, file, "{result:#}");
    }
    // The submodule's link leads to another repository with the same configuration.
    fixture.home.write("work/sub/.git", "gitdir: ../../other/.git\n");
    look("work/sub");
    let result = peer.delegate_and_wait(3, fixture.task("touch sub/made.txt"));
    assert_eq!(result["run_report"]["repository"]["files"][0]["path"], "sub/made.txt", "{result:#}");
    let mut task = fixture.task("ok");
    task["isolation"] = json!("worktree");
    let result = peer.delegate_and_wait(4, task);
    assert!(
        result["failure"]["detail"].as_str().unwrap().contains("its submodule sub cannot be filled"),
        "{result:#}"
    );
    assert!(!marker.exists(), "{}", std::fs::read_to_string(&marker).unwrap());

    // The same program is started by a git that reads the workspace's configuration.
    std::fs::copy(fixture.folder("included"), fixture.folder("work/.git/config")).unwrap();
    fixture.git(&["hash-object", "--path", "README.md", "README.md"]);
    assert!(marker.exists(), "nothing was planted");
}
