//! The person at an interface, who sees and decides questions: the owner of the hub, or a user who logged in.

use std::collections::BTreeMap;

use adjutant_store::questions::ALL;

/// Separates addressees; none of them has it.
pub(super) const SEPARATOR: char = '|';

/// The mark of a group before its name.
pub(super) const GROUP: char = '@';

/// A person at an interface, and the questions that are for that person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Viewer {
    /// The id of a user who logged in; `None` for the owner of the hub.
    user: Option<String>,
    /// The user and the groups with the user; `None` if every question is shown and decided.
    names: Option<Vec<String>>,
    decides: bool,
}

impl Viewer {
    /// The owner of the hub, who sees and decides everything.
    pub const OWNER: Self = Self { user: None, names: None, decides: true };

    /// Returns a user who sees and decides everything.
    pub fn operator(user: &str) -> Self {
        Self { user: Some(user.to_owned()), ..Self::OWNER }
    }

    /// Returns a user who sees the questions for all, for that user and for the user's groups. If it `decides`, the user
    /// decides the latter two.
    pub fn member(user: &str, groups: &BTreeMap<String, Vec<String>>, decides: bool) -> Self {
        let of_user = groups.iter().filter(|(_, members)| members.iter().any(|member| member == user));
        let names = [user.to_owned()].into_iter().chain(of_user.map(|(group, _)| format!("{GROUP}{group}")));
        // A name with the separator would be several names.
        let names = names.filter(|name| !name.contains(SEPARATOR)).collect();
        Self { user: Some(user.to_owned()), names: Some(names), decides }
    }

    /// Returns the id of the user; `None` for the owner.
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// Returns whether a question for `addressee` is shown.
    pub fn sees(&self, addressee: &str) -> bool {
        addressee.is_empty() || self.is_addressed(addressee)
    }

    /// Returns whether a question for `addressee` may be decided.
    pub fn decides(&self, addressee: &str) -> bool {
        self.decides && self.is_addressed(addressee)
    }

    fn is_addressed(&self, addressee: &str) -> bool {
        self.names.as_ref().is_none_or(|names| names.iter().any(|name| name == addressee))
    }

    /// Returns the addressees of the questions that are shown, as the store compares them.
    pub(super) fn addressees(&self) -> String {
        match &self.names {
            None => ALL.to_owned(),
            // The empty name at the start is that of questions for all.
            Some(names) => names
                .iter()
                .fold(format!("{SEPARATOR}{SEPARATOR}"), |all, name| format!("{all}{name}{SEPARATOR}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_viewer_sees_and_decides_what_the_table_says() {
        let groups = BTreeMap::from([
            ("backend".to_owned(), vec!["ann".to_owned(), "bob".to_owned()]),
            ("empty".to_owned(), vec![]),
        ]);
        let ann = Viewer::member("ann", &groups, true);
        let reader = Viewer::member("bob", &groups, false);
        let odd = Viewer::member("x|@backend", &groups, true);
        let operator = Viewer::operator("zoe");
        // Addressee, then for each viewer: sees, decides.
        let table = [
            ("", [(true, true), (true, true), (true, false), (true, false), (true, false)]),
            ("ann", [(true, true), (true, true), (true, true), (false, false), (false, false)]),
            ("bob", [(true, true), (true, true), (false, false), (true, false), (false, false)]),
            ("@backend", [(true, true), (true, true), (true, true), (true, false), (false, false)]),
            ("@empty", [(true, true), (true, true), (false, false), (false, false), (false, false)]),
            ("backend", [(true, true), (true, true), (false, false), (false, false), (false, false)]),
            ("ANN", [(true, true), (true, true), (false, false), (false, false), (false, false)]),
        ];
        for (addressee, expected) in table {
            for (viewer, (sees, decides)) in
                [&Viewer::OWNER, &operator, &ann, &reader, &odd].into_iter().zip(expected)
            {
                assert_eq!(viewer.sees(addressee), sees, "{viewer:?} sees {addressee:?}");
                assert_eq!(viewer.decides(addressee), decides, "{viewer:?} decides {addressee:?}");
                // The store compares in this way.
                let addressees = viewer.addressees();
                let shown = addressees == ALL || addressees.contains(&format!("|{addressee}|"));
                assert_eq!(shown, sees, "{addressees} {addressee:?}");
            }
        }
    }
}
