//! The parts that the views are made of: input fields and laid out text.

pub(crate) mod field_input;
pub(crate) mod field_inputs;
pub(super) mod markdown;
pub(crate) mod styled_text;
pub(crate) mod text_input;
pub(crate) mod wrap;
