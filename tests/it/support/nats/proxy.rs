//! A link to a NATS server that can be cut.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// A listener that passes connections on until it is cut.
pub(crate) struct Proxy {
    url: String,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    is_cut: bool,
    streams: Vec<TcpStream>,
}

impl Proxy {
    /// Listens on a free port for the server at `url`.
    pub(crate) fn to(url: &str) -> Self {
        let (_, target) = url.rsplit_once('/').unwrap();
        let target = target.to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(Mutex::new(State::default()));
        let shared = state.clone();
        std::thread::spawn(move || {
            for near in listener.incoming().flatten() {
                let mut state = shared.lock().unwrap();
                if state.is_cut {
                    continue;
                }
                let Ok(far) = TcpStream::connect(&target) else { continue };
                for (from, to) in [(&near, &far), (&far, &near)] {
                    pass(from.try_clone().unwrap(), to.try_clone().unwrap());
                }
                state.streams.extend([near, far]);
            }
        });
        Self { url: format!("nats://{address}"), state }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Closes all connections, and those that come from now on.
    pub(crate) fn cut(&self) {
        let mut state = self.state.lock().unwrap();
        state.is_cut = true;
        for stream in state.streams.drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Passes connections on again.
    pub(crate) fn mend(&self) {
        self.state.lock().unwrap().is_cut = false;
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream) {
    std::thread::spawn(move || {
        let mut bytes = vec![0; 64 * 1024];
        while let Ok(count @ 1..) = from.read(&mut bytes) {
            if to.write_all(&bytes[..count]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
    });
}
