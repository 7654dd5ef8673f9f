//! One statement for several rows. Each statement costs a round trip to another thread or machine, and reading a
//! calendar or planning for many users inserts very many rows at once.

use sqlx::{AnyConnection, AssertSqlSafe};

use crate::POSTGRES;

/// Values of one statement at most.
const VALUES: usize = 1024;

/// Returns the maximum number of rows of `one` in a statement.
pub(super) fn rows(one: &str) -> usize {
    VALUES / one.matches('$').count().max(1)
}

/// Returns `one` with its group of values, `VALUES ($1, …)` or `IN ($1)`, repeated for `rows` rows. `one` has each value
/// once, in order.
pub(super) fn repeated(connection: &AnyConnection, one: &'static str, rows: usize) -> AssertSqlSafe<String> {
    let places = match connection.backend_name() {
        POSTGRES => Places::Numbered,
        _ => Places::Plain,
    };
    // Safe: it comes from constants, without any input.
    AssertSqlSafe(repeat(one, rows, places))
}

/// The names of the places of a statement's values.
#[derive(Clone, Copy)]
enum Places {
    /// `$1`
    Numbered,
    /// `?`: SQLite searches the list of all numbers for each of them, so that twice as many cost four times as much.
    Plain,
}

fn repeat(one: &str, rows: usize, places: Places) -> String {
    let Some((head, rest)) = one.split_once("VALUES (").or_else(|| one.split_once("IN (")) else {
        return one.to_owned();
    };
    let Some((group, tail)) = rest.split_once(')') else { return one.to_owned() };
    let values = one.contains("VALUES (");
    let width = group.matches('$').count();
    let group_of = |row: usize| {
        let mut number = row * width;
        let parts = group.split(", ").map(|part| match places {
            _ if !part.starts_with('$') => part.to_owned(),
            Places::Plain => "?".to_owned(),
            Places::Numbered => {
                number += 1;
                format!("${number}")
            }
        });
        parts.collect::<Vec<_>>().join(", ")
    };
    let groups = match places {
        Places::Numbered => (0..rows).map(group_of).collect(),
        Places::Plain => vec![group_of(0); rows],
    };
    if values {
        format!("{head}VALUES ({}){tail}", groups.join("), ("))
    } else {
        format!("{head}IN ({}){tail}", groups.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::{Places, repeat};

    #[test]
    fn groups_are_repeated_with_numbers_of_their_own() {
        let one = "INSERT INTO a (x, y, z) VALUES ($1, 'planned', $2) ON CONFLICT (x) DO NOTHING RETURNING x";
        let repeated = |one, rows| repeat(one, rows, Places::Numbered);
        assert_eq!(repeated(one, 1), one);
        assert_eq!(
            repeated(one, 3),
            one.replace(
                "($1, 'planned', $2)",
                "($1, 'planned', $2), ($3, 'planned', $4), ($5, 'planned', $6)"
            )
        );
        assert_eq!(repeated("SELECT x FROM a WHERE x IN ($1)", 2), "SELECT x FROM a WHERE x IN ($1, $2)");
        assert_eq!(repeat("IN ($1)", 2, Places::Plain), "IN (?, ?)");
        assert_eq!(repeat("VALUES ($1, 'a', $2)", 2, Places::Plain), "VALUES (?, 'a', ?), (?, 'a', ?)");
    }
}
