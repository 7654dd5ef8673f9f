//! Wrong passwords: each costs a growing pause, for the user at this address, and less strictly for the user anywhere.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use adjutant_base::mutex::lock;

/// Wrong passwords of one user from one address, and from all addresses, without a pause.
const FREE_HERE: u32 = 3;
const FREE_ANYWHERE: u32 = 30;

const FIRST_PAUSE: Duration = Duration::from_secs(5);
const MAX_PAUSE: Duration = Duration::from_mins(15);

/// Maximum counters. Beyond it those without a pause are forgotten, and without any of them no password is checked.
const MAX_COUNTERS: usize = 10_000;

/// The wrong passwords of one listener.
#[derive(Debug, Default)]
pub(crate) struct LoginAttempts(Mutex<HashMap<(String, Option<IpAddr>), Wrong>>);

#[derive(Debug)]
struct Wrong {
    count: u32,
    locked_until: Instant,
}

impl LoginAttempts {
    /// Counts an attempt as wrong until [`Self::succeeded`], so that concurrent guesses count too. The error is the pause until
    /// the next attempt.
    pub(crate) fn begin(&self, user: &str, from: IpAddr, now: Instant) -> Result<(), Duration> {
        let mut counters = lock(&self.0);
        let keys = [((user.to_owned(), Some(from)), FREE_HERE), ((user.to_owned(), None), FREE_ANYWHERE)];
        let locked =
            keys.iter().filter_map(|(key, _)| counters.get(key)).map(|wrong| wrong.locked_until).max();
        if let Some(pause) =
            locked.and_then(|until| until.checked_duration_since(now)).filter(|pause| !pause.is_zero())
        {
            return Err(pause);
        }
        if counters.len() + keys.len() > MAX_COUNTERS {
            counters.retain(|_, wrong| wrong.locked_until > now);
            if counters.len() + keys.len() > MAX_COUNTERS {
                return Err(FIRST_PAUSE);
            }
        }
        for (key, free) in keys {
            let wrong = counters.entry(key).or_insert(Wrong { count: 0, locked_until: now });
            wrong.count = wrong.count.saturating_add(1);
            if wrong.count >= free {
                let pause = FIRST_PAUSE.saturating_mul(1 << (wrong.count - free).min(20));
                wrong.locked_until = now + pause.min(MAX_PAUSE);
            }
        }
        Ok(())
    }

    /// Forgets the wrong passwords of a user who gave the right one.
    pub(crate) fn succeeded(&self, user: &str, from: IpAddr) {
        let mut counters = lock(&self.0);
        counters.remove(&(user.to_owned(), Some(from)));
        counters.remove(&(user.to_owned(), None));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_wrong_password_costs_more() {
        let attempts = LoginAttempts::default();
        let here = "192.0.2.1".parse().unwrap();
        let mut now = Instant::now();
        for _ in 0..FREE_HERE {
            assert_eq!(attempts.begin("ann", here, now), Ok(()));
        }
        let mut total = Duration::ZERO;
        for expected in [5, 10, 20, 40, 80, 160, 320, 640, 900, 900] {
            let pause = attempts.begin("ann", here, now).unwrap_err();
            assert_eq!(pause.as_secs(), expected);
            now += pause;
            total += pause;
            assert_eq!(attempts.begin("ann", here, now), Ok(()));
        }
        assert!(total > Duration::from_mins(50));
        // Other users, and this user elsewhere, are not held up.
        assert_eq!(attempts.begin("bob", here, now), Ok(()));
        assert_eq!(attempts.begin("ann", "192.0.2.2".parse().unwrap(), now), Ok(()));
        attempts.succeeded("ann", here);
        assert_eq!(attempts.begin("ann", here, now), Ok(()));
    }

    #[test]
    fn many_addresses_share_the_pause_of_a_user() {
        let attempts = LoginAttempts::default();
        let now = Instant::now();
        let from = |last: u8| IpAddr::from([192, 0, 2, last]);
        let tries = (0..u8::MAX).take_while(|last| attempts.begin("ann", from(*last), now).is_ok()).count();
        assert_eq!(tries, FREE_ANYWHERE as usize);
    }

    #[test]
    fn names_that_nobody_has_do_not_fill_the_memory() {
        let attempts = LoginAttempts::default();
        let now = Instant::now();
        let here = "192.0.2.1".parse().unwrap();
        for _ in 0..FREE_HERE {
            attempts.begin("ann", here, now).unwrap();
        }
        for number in 0..2 * MAX_COUNTERS {
            let _ = attempts.begin(&format!("user {number}"), here, now);
        }
        assert!(lock(&attempts.0).len() <= MAX_COUNTERS);
        assert!(attempts.begin("ann", here, now).is_err(), "a pause is not forgotten");
    }
}
