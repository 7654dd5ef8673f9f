//! A bounded fuzzer for tests of parsers: it mutates a corpus by a fixed seed.
//!
//! `ADJUTANT_FUZZ_SECONDS` runs each test for so many seconds, with a seed from the clock; `ADJUTANT_FUZZ_SEED` repeats
//! a seed.

use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// Inputs of a test in the suite.
const INPUTS: usize = 3000;
/// Mutations of one input.
const MAX_MUTATIONS: usize = 8;
/// Longest input, in characters.
const MAX_CHARS: usize = 4000;
/// Fragments that parsers have stumbled over.
const FRAGMENTS: [&str; 24] = [
    "\n",
    "\r\n ",
    "\n\t",
    "\0",
    "\u{feff}",
    "é",
    "🎉",
    "\"",
    "'",
    ":",
    ";",
    ",",
    "=",
    "<",
    ">",
    "&#0;",
    "{",
    "]",
    "-1",
    "0",
    "99999999999999999999",
    "4294967296",
    "-9223372036854775808",
    "00000000T000000Z",
];

/// The message of the last panic, because a parser may catch its own panics.
static PANIC: Mutex<Option<String>> = Mutex::new(None);

/// Calls `target` with mutations of the texts of `corpus`.
///
/// # Panics
/// Panics where `target` does, also if it contains the panic, with the seed and the input.
#[expect(clippy::disallowed_methods, reason = "the switches of tests are read where they count")]
pub fn run(corpus: &[&str], target: impl Fn(&str)) {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let seconds = number("ADJUTANT_FUZZ_SECONDS").map(Duration::from_secs);
    let clock = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(1, |now| now.as_secs());
    let seed = number("ADJUTANT_FUZZ_SEED").unwrap_or(if seconds.is_some() { clock } else { 1 });
    set_hook(Box::new(|panic| {
        *PANIC.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic.to_string());
    }));
    let mut random = Random(seed.wrapping_mul(2).wrapping_add(1));
    let begin = Instant::now();
    for number in 0.. {
        if seconds.map_or(number >= INPUTS, |seconds| begin.elapsed() >= seconds) {
            return;
        }
        let input = mutated(corpus, &mut random);
        let _ = catch_unwind(AssertUnwindSafe(|| target(&input)));
        let panic = PANIC.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(panic) = panic {
            let _ = std::panic::take_hook();
            panic!("seed {seed}, input {number}: {panic}\n{input:?}");
        }
    }
}

/// A xorshift generator: tests need no better one.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or_default() % end.max(1)
    }

    /// A range of at most `end` places, short ones more often.
    fn range(&mut self, end: usize) -> std::ops::Range<usize> {
        let from = self.below(end + 1);
        let longest = [1, 4, 40, end][self.below(4)];
        from..end.min(from + 1 + self.below(longest))
    }
}

fn mutated(corpus: &[&str], random: &mut Random) -> String {
    let mut text: Vec<char> = corpus[random.below(corpus.len())].chars().collect();
    for _ in 0..=random.below(MAX_MUTATIONS) {
        let range = random.range(text.len());
        let insert: Vec<char> = match random.below(6) {
            0 => Vec::new(),
            1 => FRAGMENTS[random.below(FRAGMENTS.len())].chars().collect(),
            // A part of another text of the corpus, or of this one.
            2 => {
                let other: Vec<char> = corpus[random.below(corpus.len())].chars().collect();
                other[random.range(other.len())].to_vec()
            }
            3 => text[random.range(text.len())].to_vec(),
            4 => text[range.clone()].iter().rev().copied().collect(),
            _ => vec![u32::try_from(random.below(0x3000)).ok().and_then(char::from_u32).unwrap_or(' ')],
        };
        let replaced = if random.below(2) == 0 { range } else { range.start..range.start };
        text.splice(replaced, insert);
        text.truncate(MAX_CHARS);
    }
    text.into_iter().collect()
}
