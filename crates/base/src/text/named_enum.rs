//! Enums with one name per variant in rows, in JSON and on the command line.

/// Defines an enum with named variants, with `ALL`, `name`, `from_name`, and serde by name.
#[macro_export]
macro_rules! named_enum {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $variant_name:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        pub enum $name { $($(#[$variant_doc])* #[serde(rename = $variant_name)] $variant),* }

        impl $name {
            /// Every variant, in order.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// Returns the name of the variant.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $variant_name),* }
            }

            /// Returns the variant of a name; `None` for an unknown name.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|variant| variant.name() == name)
            }
        }
    };
}
