//! Reports on the keys of a definition file, and the values that the formats set in the same way.

use crate::definition::{Agent, Field, FieldSupport, Permission, Program};
use adjutant_base::text::suggest::to_valid_name;

impl Agent {
    /// Reports the support of a key.
    pub(super) fn report(&mut self, key: &str, support: FieldSupport) {
        self.fields.push(Field { key: key.to_owned(), support });
    }

    /// Reports a key that has the same meaning here.
    pub(super) fn report_supported(&mut self, key: &str) {
        self.report(key, FieldSupport::Supported);
    }

    /// Reports a key that becomes something else here: `to`, a sentence fragment.
    pub(super) fn report_mapped(&mut self, key: &str, to: impl Into<String>) {
        self.report(key, FieldSupport::Mapped(to.into()));
    }

    /// Reports a key without an effect here; `why` is a sentence fragment.
    pub(super) fn report_unsupported(&mut self, key: &str, why: &str) {
        self.report(key, FieldSupport::Unsupported(why.to_owned()));
    }

    /// Reports a key as unsupported for the reason that `unsupported` has for it, else as unknown.
    pub(super) fn report_other(&mut self, key: &str, unsupported: &[(&str, &str)]) {
        let why = unsupported.iter().find(|(name, _)| *name == key).map(|(_, why)| (*why).to_owned());
        self.report(key, why.map_or(FieldSupport::Unknown, FieldSupport::Unsupported));
    }

    /// Sets the name to a valid one, made of the name that another program accepts.
    pub(super) fn set_name(&mut self, key: &str, name: &str) {
        let own = to_valid_name(name);
        if own.is_empty() {
            self.report_unsupported(
                key,
                "it has no letter or digit to make a name of; the file's name is used",
            );
        } else if own == name {
            self.report_supported(key);
        } else {
            self.report_mapped(key, format!("the name is `{own}`"));
        }
        self.name = own;
    }

    /// Sets the model, in the spelling of `program`, and the program's runner.
    pub(super) fn set_model(&mut self, program: Program, key: &str, model: String) {
        if model == "inherit" {
            return self.report_mapped(key, "no model is asked for: the runner chooses");
        }
        self.report_mapped(
            key,
            format!("`{model}` in the words of {0}: the runner is `{0}`", program.name()),
        );
        self.model = Some(model);
        self.runner = Some(program.name().to_owned());
    }

    /// Sets the permission that a value of another program means. Only a file of Adjutant grants `full`.
    pub(super) fn set_level(&mut self, key: &str, level: Permission) {
        let lowered = if level == Permission::Full { "; only a file of Adjutant grants `full`" } else { "" };
        self.permission = level.min(Permission::WorkspaceWrite);
        self.report_mapped(key, format!("permission `{}`{lowered}", self.permission.name()));
    }

    /// Sets the permission that a list of tools needs.
    pub(super) fn set_permission(&mut self, key: &str, writes: bool) {
        self.permission = if writes { Permission::WorkspaceWrite } else { Permission::ReadOnly };
        let level = self.permission.name();
        self.report_mapped(key, format!("permission `{level}`; single tools are not distinguished"));
    }
}
