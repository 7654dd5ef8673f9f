//! One statement for several rows. Each statement costs a round trip to another thread or machine, and reading a
//! calendar or planning for many users inserts very many rows at once.

use sqlx::AssertSqlSafe;

/// Values of one statement at most. SQLite searches the list of their names for each of them, so that twice as many cost
/// four times as much; fewer mean more round trips.
const VALUES: usize = 128;

/// Returns how many rows of `one` a statement may have.
pub(super) fn rows(one: &str) -> usize {
    VALUES / one.matches('$').count().max(1)
}

/// Returns `one` with its group of values, `VALUES ($1, …)` or `IN ($1)`, repeated for `rows` rows.
pub(super) fn repeated(one: &'static str, rows: usize) -> AssertSqlSafe<String> {
    // Safe: both parts come from constants, without any input.
    let Some((head, rest)) = one.split_once("VALUES (").or_else(|| one.split_once("IN (")) else {
        return AssertSqlSafe(one.to_owned());
    };
    let Some((group, tail)) = rest.split_once(')') else { return AssertSqlSafe(one.to_owned()) };
    let values = one.contains("VALUES (");
    let width = group.matches('$').count();
    let group_of = |row: usize| {
        let mut numbers = (row * width + 1..).map(|number| format!("${number}"));
        let parts = group.split(", ").map(|part| {
            if part.starts_with('$') { numbers.next().unwrap_or_default() } else { part.to_owned() }
        });
        parts.collect::<Vec<_>>().join(", ")
    };
    let groups: Vec<String> = (0..rows).map(group_of).collect();
    AssertSqlSafe(if values {
        format!("{head}VALUES ({}){tail}", groups.join("), ("))
    } else {
        format!("{head}IN ({}){tail}", groups.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::repeated;

    #[test]
    fn groups_are_repeated_with_numbers_of_their_own() {
        let one = "INSERT INTO a (x, y, z) VALUES ($1, 'planned', $2) ON CONFLICT (x) DO NOTHING RETURNING x";
        assert_eq!(repeated(one, 1).0, one);
        assert_eq!(
            repeated(one, 3).0,
            one.replace(
                "($1, 'planned', $2)",
                "($1, 'planned', $2), ($3, 'planned', $4), ($5, 'planned', $6)"
            )
        );
        assert_eq!(repeated("SELECT x FROM a WHERE x IN ($1)", 2).0, "SELECT x FROM a WHERE x IN ($1, $2)");
    }
}
