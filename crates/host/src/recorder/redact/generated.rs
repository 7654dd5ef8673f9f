//! Words that look generated: keys and passwords.

/// Returns whether a word is a key: a part of 16 letters and digits or more changes between letters and digits three
/// times or more, or has letters in random cases.
pub(super) fn is_key(word: &[u8]) -> bool {
    const MIN_PART: usize = 16;
    const MIN_CHANGES: usize = 3;
    let parts = word.split(|byte| !byte.is_ascii_alphanumeric());
    let changes = |part: &[u8]| {
        part.windows(2).filter(|pair| pair[0].is_ascii_digit() != pair[1].is_ascii_digit()).count()
    };
    let is_key =
        |part: &[u8]| part.len() >= MIN_PART && changes(part) >= MIN_CHANGES || has_random_cases(part);
    parts.into_iter().any(is_key) || is_uuid(word)
}

/// Returns whether the cases of a word of letters alone are random: about half of them are capitals, and no run of
/// small letters is as long as a word.
fn has_random_cases(word: &[u8]) -> bool {
    const MIN_LENGTH: usize = 20;
    const MAX_SMALL: usize = 6;
    let capitals = word.iter().filter(|byte| byte.is_ascii_uppercase()).count();
    word.len() >= MIN_LENGTH
        && word.iter().all(u8::is_ascii_alphabetic)
        && (word.len() * 2 / 5..=word.len() * 3 / 5).contains(&capitals)
        && word.split(u8::is_ascii_uppercase).all(|small| small.len() <= MAX_SMALL)
}

/// Returns whether a word of 8 bytes or more looks like a password: it is a key, or something follows a digit in it,
/// and it has letters of both cases or a sign that names do not have.
pub(super) fn is_password(word: &[u8]) -> bool {
    const MIN_LENGTH: usize = 8;
    let inner = word.windows(2).any(|pair| pair[0].is_ascii_digit() && !pair[1].is_ascii_digit());
    let cases = word.iter().any(u8::is_ascii_uppercase) && word.iter().any(u8::is_ascii_lowercase);
    let sign = word.iter().any(|byte| matches!(byte, b'!' | b'@' | b'#' | b'$' | b'%' | b'^' | b'~' | b'+'));
    word.len() >= MIN_LENGTH && (inner && (cases || sign) || is_key(word))
}

/// Returns whether a word of 20 bytes or more looks like a password, see [`is_password`].
pub(super) fn is_long(word: &[u8]) -> bool {
    const MIN_LENGTH: usize = 20;
    word.len() >= MIN_LENGTH && is_password(word)
}

fn is_uuid(word: &[u8]) -> bool {
    const GROUPS: [usize; 5] = [8, 4, 4, 4, 12];
    let mut groups = word.split(|byte| *byte == b'-');
    let is_group =
        |(group, length): (&[u8], usize)| group.len() == length && group.iter().all(u8::is_ascii_hexdigit);
    word.len() == 36 && groups.by_ref().zip(GROUPS).all(is_group) && groups.next().is_none()
}
