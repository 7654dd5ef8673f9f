//! Names of the tools of the questions toolset.

pub(crate) const TRIGGER: &str = "triggerPopup";
pub(crate) const FORM: &str = "ask_form";
pub(crate) const AWAIT: &str = "await_answer";
