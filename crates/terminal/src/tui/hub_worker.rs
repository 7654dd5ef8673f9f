//! The threads that talk to the hub for the Inbox.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use super::hub::Hub;
use super::inbox::Message;
use crate::socket::Start;
use crate::socket::control::questions::{Done, Request};
use crate::socket::control::{ControlClient, Error};

/// Interval between two attempts to find a hub.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Maximum requests in the queue; a user is slower than the hub.
const REQUEST_QUEUE_SIZE: usize = 64;

/// Follows questions of the hub, as `follow` says, through `first`, and after its end those of the next hub, until the
/// receiver of `inputs` is dropped.
pub(super) fn follow<I: From<Message> + Send + 'static>(
    hub: Hub,
    first: ControlClient,
    follow: Request,
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
                    let mut has_receiver = true;
                    let ended = client.follow_questions(follow.clone(), |update| {
                        has_receiver = has_receiver && inputs.send(Message::Update(update).into()).is_ok();
                    });
                    if !has_receiver {
                        return;
                    }
                    hub.fault(ended.err().as_ref())
                }
                Err(error) => hub.fault(Some(&error)),
            };
            if inputs.send(Message::Hub(Err(ended)).into()).is_err() {
                return;
            }
            std::thread::sleep(RETRY_INTERVAL);
            next = hub.connect(Start::Never);
        }
    });
}

/// Sends requests in their order, each to the hub that runs then, and reports the results.
pub(super) fn send_requests<I: From<Message> + Send + 'static>(
    hub: Hub,
    inputs: SyncSender<I>,
) -> SyncSender<Request> {
    let (send, requests): (_, Receiver<Request>) = sync_channel(REQUEST_QUEUE_SIZE);
    std::thread::spawn(move || {
        let mut client: Option<ControlClient> = None;
        for request in requests {
            let done = send_request(&hub, &mut client, &request);
            if inputs.send(Message::Done(request, done).into()).is_err() {
                return;
            }
        }
    });
    send
}

/// Sends one request, on a new connection if the hub of the last one has ended. A request that had reached that hub is then
/// reported as decided before.
fn send_request(hub: &Hub, client: &mut Option<ControlClient>, request: &Request) -> Result<Done, String> {
    if let Some(known) = client {
        match known.question(request.clone()) {
            Err(Error::Hub(_)) => *client = None,
            done => return done.map_err(|error| hub.fault(Some(&error))),
        }
    }
    let mut fresh = hub.connect(Start::Never).map_err(|error| hub.fault(Some(&error)))?;
    let done = fresh.question(request.clone()).map_err(|error| hub.fault(Some(&error)));
    *client = Some(fresh);
    done
}
