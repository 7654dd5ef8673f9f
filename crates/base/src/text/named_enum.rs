//! Enums whose variants have the same name in rows, in JSON and on the command line.

/// Defines an enum whose variants have a word each, with `ALL`, `name` and `from_name`, and serde by the word.
#[macro_export]
macro_rules! named_enum {
    ($(#[$doc:meta])* $name:ident { $($(#[$of:meta])* $variant:ident = $word:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        pub enum $name { $($(#[$of])* #[serde(rename = $word)] $variant),* }

        impl $name {
            /// Every one, in order.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// Returns its word.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $word),* }
            }

            /// Reads a word; `None` for one that is none of these.
            pub fn from_name(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.name() == word)
            }
        }
    };
}
