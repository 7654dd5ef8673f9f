//! What the doctor asks of the ground: whether the database is sound, whether the desktop's notifications answer.

use crate::channels;
use crate::config::Database;
use crate::store;

/// How the rows are.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Rows {
    /// There is no database yet.
    None,
    Sound,
    /// What does not fit together, in the engine's words.
    Broken(Vec<String>),
    /// A newer version of this program wrote them.
    Newer,
    /// Another program keeps everybody else out.
    Held,
    /// They cannot be reached; a sentence says why.
    Away(String),
}

/// Reads the database as it is, and changes nothing.
pub(crate) async fn database(database: &Database) -> Rows {
    match store::faults(database).await {
        Ok(None) => Rows::None,
        Ok(Some(faults)) if faults.is_empty() => Rows::Sound,
        Ok(Some(faults)) => Rows::Broken(faults),
        Err(store::Error::Newer) => Rows::Newer,
        Err(store::Error::Held(_)) => Rows::Held,
        Err(store::Error::Damaged(source)) => Rows::Broken(vec![source.to_string()]),
        Err(error) => Rows::Away(match std::error::Error::source(&error) {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        }),
    }
}

/// Asks the desktop's notification service for its name. The error is a sentence fragment.
pub(crate) async fn notification_service() -> Result<String, String> {
    channels::Desktop::default().name().await.map_err(|error| error.to_string())
}
