//! Tests of the files that the user adds to an answer by their paths.

use super::*;
use adjutant_questions::{MAX_FILES, NewFile};

/// A file of this crate, which every checkout has.
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/lib.rs");
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src");

fn open(question: Question) -> TestInbox {
    let mut test_inbox = TestInbox::with([question]);
    test_inbox.size = (100, 30);
    test_inbox.press("Enter");
    test_inbox.pass(500);
    test_inbox
}

fn sent(acts: &[Request]) -> Vec<NewFile> {
    match acts {
        [Request::Answer { files, .. }] => files.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_file_goes_with_the_answer_and_an_empty_path_takes_the_last_back() {
    let file = NewFile::new("lib.rs", &std::fs::read(FILE).unwrap());
    let mut test_inbox = open(deploy());
    test_inbox.press("^f");
    let frame = test_inbox.frame();
    assert!(frame.contains("The path of a file") && frame.contains("Enter adds the file"), "{frame}");
    test_inbox.press(&format!("{FILE} Enter ^f {FILE} Enter"));
    assert!(test_inbox.frame().contains("files: lib.rs, lib.rs"), "{}", test_inbox.frame());
    test_inbox.press("^f Enter");
    assert!(test_inbox.frame().contains("files: lib.rs\n"), "{}", test_inbox.frame());
    // Escape adds nothing.
    test_inbox.press(&format!("^f {FILE} Esc"));
    let acts = test_inbox.press("1 Enter");
    assert_eq!(sent(&acts), [file]);
}

#[test]
fn a_path_without_a_file_is_rejected_and_can_be_corrected() {
    let mut test_inbox = open(deploy());
    test_inbox.press(&format!("^f {FOLDER}/nothing.rs Enter"));
    assert!(test_inbox.frame().contains("cannot be read"), "{}", test_inbox.frame());
    test_inbox.press(&format!("^u {FOLDER} Enter"));
    assert!(test_inbox.frame().contains("is not a file"), "{}", test_inbox.frame());
    test_inbox.press(&format!("^u {FILE} Enter"));
    let frame = test_inbox.frame();
    assert!(frame.contains("files: lib.rs") && !frame.contains("is not a file"), "{frame}");
}

#[test]
fn an_answer_takes_so_many_files_and_an_approval_none() {
    let mut test_inbox = open(deploy());
    for _ in 0..MAX_FILES {
        test_inbox.press(&format!("^f {FILE} Enter"));
    }
    test_inbox.press("^f");
    let most = format!("an answer takes at most {MAX_FILES} files");
    assert!(test_inbox.frame().contains(&most), "{}", test_inbox.frame());
    let acts = test_inbox.press("1 Enter");
    assert_eq!(sent(&acts).len(), MAX_FILES);

    let mut approval = open(Question { denials: vec!["no".into()], ..deploy() });
    approval.press("^f");
    let frame = approval.frame();
    assert!(frame.contains("an approval takes no files") && !frame.contains("The path of a file"), "{frame}");
}
