//! Names of prompts and agents: valid names made of other names, and suggestions for a mistyped name.

/// Number of names that are suggested.
const MAX_SUGGESTIONS: usize = 3;
/// Longer names are not compared: the work per candidate is the product of both lengths.
const MAX_LEN: usize = 64;

/// Returns the nearest valid name: in lower case, and with a `-` for every run of other characters. It is empty if no
/// character is valid.
pub fn to_valid_name(foreign: &str) -> String {
    let segments = foreign.split('/').map(|segment| {
        let mut name = String::new();
        for c in segment.chars().flat_map(char::to_lowercase) {
            if c.is_ascii_alphanumeric() || c == '_' {
                name.push(c);
            } else if !name.ends_with('-') {
                name.push('-');
            }
        }
        name.trim_matches(['-', '_']).to_owned()
    });
    segments.filter(|segment| !segment.is_empty()).collect::<Vec<_>>().join("/")
}

/// Returns up to three of `names` that are close to `wanted`, the closest first.
///
/// A name is close if it differs only in letter case, if the last part of its path is the same, or if its edit distance
/// is at most a third of the name, and 1 for a short one.
pub fn near_names<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let wanted = wanted.trim().trim_start_matches([':', '/', '!']).to_lowercase();
    let length = wanted.chars().count();
    if length == 0 || length > MAX_LEN {
        return Vec::new();
    }
    // Most short words are two edits from one another.
    let max_distance = if length < 6 { 1 } else { length.div_ceil(3) };
    let mut close: Vec<(usize, &str)> = names
        .filter_map(|name| {
            let candidate = name.to_lowercase();
            let last = candidate.rsplit('/').next().unwrap_or(&candidate);
            let distance =
                if last == wanted { 0 } else { distance_within(&wanted, &candidate, max_distance)? };
            Some((distance, name))
        })
        .collect();
    close.sort_unstable();
    close.into_iter().take(MAX_SUGGESTIONS).map(|(_, name)| name.to_owned()).collect()
}

/// Returns the end of a message about an unknown name, with the near names; empty without one.
pub fn near_hint(near: &[String]) -> String {
    let names: Vec<_> = near.iter().map(|name| format!("`{name}`")).collect();
    if names.is_empty() { String::new() } else { format!("; did you mean {}?", names.join(" or ")) }
}

/// Returns the number of single-letter edits (insert, delete, replace, swap of neighbours) between two texts,
/// or `None` if there are more than `max_distance`.
fn distance_within(one: &str, other: &str, max_distance: usize) -> Option<usize> {
    let one: Vec<char> = one.chars().collect();
    let other: Vec<char> = other.chars().take(MAX_LEN + max_distance + 1).collect();
    if one.len().abs_diff(other.len()) > max_distance {
        return None;
    }
    let mut before = vec![0; other.len() + 1];
    let mut above: Vec<usize> = (0..=other.len()).collect();
    for (row, letter) in one.iter().enumerate() {
        let mut current = vec![row + 1; other.len() + 1];
        for (column, against) in other.iter().enumerate() {
            let replaced = above[column] + usize::from(letter != against);
            let mut best = replaced.min(above[column + 1] + 1).min(current[column] + 1);
            if row > 0 && column > 0 && *letter == other[column - 1] && one[row - 1] == *against {
                best = best.min(before[column - 1] + 1);
            }
            current[column + 1] = best;
        }
        before = std::mem::replace(&mut above, current);
    }
    Some(above[other.len()]).filter(|distance| *distance <= max_distance)
}

#[cfg(test)]
mod tests {
    use super::{distance_within, near_names};

    #[test]
    fn the_intended_name_is_suggested() {
        let names = ["research", "summarize", "team/review", "critique", "search"];
        let near = |wanted: &str| near_names(wanted, names.into_iter());
        assert_eq!(near("reserach"), ["research", "search"]);
        assert_eq!(near(":Research"), ["research", "search"]);
        assert_eq!(near("review"), ["team/review"]);
        assert_eq!(near("zzz"), Vec::<String>::new());
        assert_eq!(near_names("forge", ["fork"].into_iter()), Vec::<String>::new());
        assert_eq!(near(&"a".repeat(1 << 20)), Vec::<String>::new());
        assert_eq!(near(""), Vec::<String>::new());
    }

    #[test]
    fn counts_single_edits() {
        for (one, other, edits) in [("abc", "abc", 0), ("abc", "acb", 1), ("abc", "ab", 1), ("abc", "xbc", 1)]
        {
            assert_eq!(distance_within(one, other, 3), Some(edits), "{one} {other}");
        }
        assert_eq!(distance_within("abc", "xyz", 2), None);
    }
}
