//! The threads that speak with the hub, for the one that has the screen.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use super::Hub;
use super::inbox::Input;
use crate::socket::Start;
use crate::socket::person::popups::{Act, Done};
use crate::socket::person::{Error, Person};

/// Pause between two looks for a hub that is gone.
const PAUSE: Duration = Duration::from_secs(1);

/// Acts that wait their turn. A person is slower than the hub.
const ACTS: usize = 64;

impl Hub {
    /// Connects as a person.
    pub(super) fn connect(&self, start: Start) -> Result<Person, Error> {
        Person::reach(&self.home, self.socket.as_deref(), None, start)
    }
}

/// Follows the hub's questions through `first` and, when that hub ends, through the next, for as long as somebody
/// listens to `inputs`.
pub(super) fn follow<I: From<Input> + Send + 'static>(hub: Hub, first: Person, inputs: SyncSender<I>) {
    std::thread::spawn(move || {
        let mut next: Result<Person, Error> = Ok(first);
        loop {
            let ended = match next {
                Ok(mut person) => {
                    if inputs.send(Input::Hub(Ok(())).into()).is_err() {
                        return;
                    }
                    let mut listened = true;
                    let ended = person.follow_questions(|update| {
                        listened = listened && inputs.send(Input::Told(update).into()).is_ok();
                    });
                    if !listened {
                        return;
                    }
                    ended
                        .err()
                        .map_or_else(|| "the hub stopped; looking for the next".to_owned(), |e| e.to_string())
                }
                Err(error) => error.to_string(),
            };
            if inputs.send(Input::Hub(Err(ended)).into()).is_err() {
                return;
            }
            std::thread::sleep(PAUSE);
            next = hub.connect(Start::Never);
        }
    });
}

/// Does acts one after the other, each on the hub that is there then, and tells what came of each.
pub(super) fn act<I: From<Input> + Send + 'static>(hub: Hub, inputs: SyncSender<I>) -> SyncSender<Act> {
    let (send, acts): (_, Receiver<Act>) = sync_channel(ACTS);
    std::thread::spawn(move || {
        let mut person: Option<Person> = None;
        for act in acts {
            let done = do_act(&hub, &mut person, &act);
            if inputs.send(Input::Done(act, done).into()).is_err() {
                return;
            }
        }
    });
    send
}

/// Does one act. A connection whose hub is gone is replaced; an act that had reached that hub is then told as one that
/// was decided before.
fn do_act(hub: &Hub, person: &mut Option<Person>, act: &Act) -> Result<Done, String> {
    if let Some(known) = person {
        match known.question(act.clone()) {
            Err(Error::Hub(_)) => *person = None,
            done => return done.map_err(|error| error.to_string()),
        }
    }
    let mut fresh = hub.connect(Start::Never).map_err(|error| error.to_string())?;
    let done = fresh.question(act.clone()).map_err(|error| error.to_string());
    *person = Some(fresh);
    done
}
