//! The threads that talk with the hub for the inbox.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use super::hub::Hub;
use super::inbox::Message;
use crate::socket::Start;
use crate::socket::control::questions::{Done, Request};
use crate::socket::control::{ControlClient, Error};

/// Pause between two looks for a hub that is gone.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Acts that wait their turn. A person is slower than the hub.
const REQUEST_QUEUE_SIZE: usize = 64;

/// Follows the hub's questions through `first` and, when that hub ends, through the next, for as long as somebody
/// listens to `inputs`.
pub(super) fn follow<I: From<Message> + Send + 'static>(
    hub: Hub,
    first: ControlClient,
    inputs: SyncSender<I>,
) {
    std::thread::spawn(move || {
        let mut next: Result<ControlClient, Error> = Ok(first);
        loop {
            let ended = match next {
                Ok(mut client) => {
                    if inputs.send(Message::Hub(Ok(())).into()).is_err() {
                        return;
                    }
                    let mut listened = true;
                    let ended = client.follow_questions(|update| {
                        listened = listened && inputs.send(Message::Told(update).into()).is_ok();
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
            if inputs.send(Message::Hub(Err(ended)).into()).is_err() {
                return;
            }
            std::thread::sleep(RETRY_INTERVAL);
            next = hub.connect(Start::Never);
        }
    });
}

/// Does acts one after the other, each on the hub that is there then, and tells what came of each.
pub(super) fn act<I: From<Message> + Send + 'static>(hub: Hub, inputs: SyncSender<I>) -> SyncSender<Request> {
    let (send, acts): (_, Receiver<Request>) = sync_channel(REQUEST_QUEUE_SIZE);
    std::thread::spawn(move || {
        let mut client: Option<ControlClient> = None;
        for act in acts {
            let done = do_act(&hub, &mut client, &act);
            if inputs.send(Message::Done(act, done).into()).is_err() {
                return;
            }
        }
    });
    send
}

/// Does one act. A connection whose hub is gone is replaced; an act that had reached that hub is then told as one that
/// was decided before.
fn do_act(hub: &Hub, client: &mut Option<ControlClient>, act: &Request) -> Result<Done, String> {
    if let Some(known) = client {
        match known.question(act.clone()) {
            Err(Error::Hub(_)) => *client = None,
            done => return done.map_err(|error| error.to_string()),
        }
    }
    let mut fresh = hub.connect(Start::Never).map_err(|error| error.to_string())?;
    let done = fresh.question(act.clone()).map_err(|error| error.to_string());
    *client = Some(fresh);
    done
}
