//! A fake HTTP server: a provider of calls, or a webhook.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// The fake; its threads end with the test's process.
#[derive(Clone, Default)]
pub(crate) struct HttpServer {
    pub(crate) address: String,
    requests: Arc<Mutex<Vec<Request>>>,
    /// The statuses of the next answers, 0 for a hang-up; after them always 200.
    pub(crate) answers: Arc<Mutex<VecDeque<u16>>>,
}

/// A request: its first line and headers as they came, and its body.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) head: String,
    pub(crate) body: String,
}

impl HttpServer {
    pub(crate) fn start(answers: &[u16]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let answers = Arc::new(Mutex::new(answers.iter().copied().collect()));
        let server = Self { address, answers, ..Self::default() };
        let own = server.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let each = own.clone();
                std::thread::spawn(move || each.serve(stream));
            }
        });
        server
    }

    fn serve(&self, stream: TcpStream) -> Option<()> {
        let mut writer = stream.try_clone().ok()?;
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head).ok()? == 0 {
                return None;
            }
        }
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().unwrap())
        });
        let mut body = vec![0; length.unwrap_or(0)];
        reader.read_exact(&mut body).ok()?;
        self.requests.lock().unwrap().push(Request { head, body: String::from_utf8(body).unwrap() });
        let status = self.answers.lock().unwrap().pop_front().unwrap_or(200);
        if status > 0 {
            let answer = format!("HTTP/1.1 {status} x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            writer.write_all(answer.as_bytes()).ok()?;
        }
        Some(())
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}
