//! The data of `serve --demo` on the console's pages.

use crate::support::Home;
use crate::support::serving::Serving;

#[test]
fn every_task_of_the_demo_has_its_log_and_no_page_names_another_folder() {
    let home = Home::new();
    let hub = Serving::demo_hub(&home);
    let list = hub.page("/tasks");
    let tasks: Vec<&str> = list.split('"').filter(|part| part.starts_with("/tasks/dem")).collect();
    assert_eq!(tasks.len(), 5, "{list}");
    for task in tasks {
        let page = hub.page(task);
        assert!(page.contains("<li class=\"start\" data-seq=\"1\">"), "{task} has a log: {page}");
    }
    let checked = hub.page("/tasks/dem00000000000000003");
    assert!(checked.contains("<li class=\"done\" data-seq=\"12\">"), "{checked}");
    // The folder of the example is in the home, so no text names a folder that nobody has.
    let inbox = hub.page("/").replace("&#x2f;", "/");
    assert!(inbox.contains("corner-shop") && !inbox.contains("~/code/"), "{inbox}");
}
