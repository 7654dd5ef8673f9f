//! A real browser: Debian's Chromium, driven by the `DevTools` protocol over a pipe.
//!
//! Messages are JSON, each ended by a NUL byte. Chromium reads them from descriptor 3 and writes to 4; a shell
//! makes these out of the child's stdin and stdout, so that the standard library is enough.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::DEADLINE;

const PAGE_LOADED: &str = "Page.loadEventFired";

/// A browser with one tab, in a separate profile.
pub(crate) struct Browser {
    child: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Value>,
    session: String,
    last: u64,
    /// The page's complaints: console errors, uncaught exceptions, violations of the policy.
    complaints: Vec<String>,
    /// Whether a page was loaded since the last act: its event may come before the answer to the act.
    page_loaded: bool,
    scripts_run: bool,
    _profile: tempfile::TempDir,
}

/// A key that is not a letter.
#[derive(Clone, Copy)]
pub(crate) enum Key {
    Tab,
    Enter,
    Space,
    Down,
    Up,
    Escape,
    Slash,
    /// Control and K together.
    Palette,
}

impl Key {
    /// Name, code, virtual key and text, for `Input.dispatchKeyEvent`.
    fn parts(self) -> (&'static str, &'static str, u32, &'static str) {
        match self {
            Key::Tab => ("Tab", "Tab", 9, ""),
            Key::Enter => ("Enter", "Enter", 13, "\r"),
            Key::Space => (" ", "Space", 32, " "),
            Key::Down => ("ArrowDown", "ArrowDown", 40, ""),
            Key::Up => ("ArrowUp", "ArrowUp", 38, ""),
            Key::Escape => ("Escape", "Escape", 27, ""),
            Key::Slash => ("/", "Slash", 191, "/"),
            Key::Palette => ("k", "KeyK", 75, ""),
        }
    }
}

impl Browser {
    /// Starts Chromium; `None` when `ADJUTANT_TEST_WITHOUT` names it.
    pub(crate) fn start() -> Option<Self> {
        Self::start_with(&[])
    }

    /// The same with more flags on its command line.
    pub(crate) fn start_with(flags: &[&str]) -> Option<Self> {
        let without = std::env::var("ADJUTANT_TEST_WITHOUT").unwrap_or_default();
        if without.split(',').any(|name| name.trim() == "chromium") {
            return None;
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let program = ["chromium", "chromium-browser", "google-chrome"]
            .into_iter()
            .find(|name| std::env::split_paths(&path).any(|folder| folder.join(name).is_file()))
            .expect(
                "no chromium: apt-get install chromium (or ADJUTANT_TEST_WITHOUT=chromium to do without)",
            );
        let profile = tempfile::Builder::new().prefix("adj-chromium").tempdir().unwrap();
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null", program])
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
            .args(["--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe", "--lang=en-US"])
            .args(flags)
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .env("HOME", profile.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (send, messages) = channel();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            while output.read_until(0, &mut bytes).is_ok_and(|count| count > 0) {
                bytes.pop();
                let Ok(message) = serde_json::from_slice(&bytes) else { break };
                if send.send(message).is_err() {
                    break;
                }
                bytes.clear();
            }
        });
        let input = child.stdin.take();
        let mut browser = Self {
            child,
            input,
            messages,
            session: String::new(),
            last: 0,
            complaints: Vec::new(),
            page_loaded: false,
            scripts_run: true,
            _profile: profile,
        };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let session = browser.call("Target.attachToTarget", attach);
        session["sessionId"].as_str().unwrap().clone_into(&mut browser.session);
        for domain in ["Page", "Runtime", "Log"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser.set_window(1280, 900, false);
        Some(browser)
    }

    /// Sets the size of the window in CSS pixels and the colour scheme.
    pub(crate) fn set_window(&mut self, width: u32, height: u32, dark: bool) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500});
        self.call("Emulation.setDeviceMetricsOverride", size);
        let scheme = if dark { "dark" } else { "light" };
        let features = json!([
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]);
        self.call("Emulation.setEmulatedMedia", json!({"features": features}));
    }

    /// Switches the pages' own scripts on or off, from the next page on.
    pub(crate) fn enable_scripts(&mut self, on: bool) {
        self.scripts_run = on;
        self.call("Emulation.setScriptExecutionDisabled", json!({"value": !on}));
    }

    /// Opens an address and waits until it is loaded.
    pub(crate) fn open(&mut self, url: &str) {
        self.page_loaded = false;
        let answer = self.call("Page.navigate", json!({"url": url}));
        assert_eq!(answer["errorText"], Value::Null, "{url}: {answer}");
        self.wait_until_loaded();
    }

    /// Waits until the page that an act of the test led to is loaded.
    pub(crate) fn wait_until_loaded(&mut self) {
        if !self.page_loaded {
            self.next("a page that is loaded", |message| message["method"] == json!(PAGE_LOADED));
        }
        self.page_loaded = false;
    }

    /// Evaluates an expression in the page and returns its value; a promise is awaited.
    pub(crate) fn evaluate(&mut self, expression: &str) -> Value {
        let ask = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let answer = self.call("Runtime.evaluate", ask);
        assert_eq!(answer["exceptionDetails"], Value::Null, "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// Waits until an expression is true; it is evaluated again after each change of the document.
    pub(crate) fn wait_until(&mut self, expression: &str) {
        let limit = DEADLINE.as_millis();
        let wait = format!(
            "new Promise((done) => {{
                const look = () => {{ if ({expression}) {{ watch.disconnect(); clearTimeout(timer); done(true); }} }};
                const watch = new MutationObserver(look);
                const timer = setTimeout(() => {{ watch.disconnect(); done(false); }}, {limit});
                watch.observe(document, {{ subtree: true, childList: true, attributes: true, characterData: true }});
                look();
            }})"
        );
        if self.evaluate(&wait) != json!(true) {
            let text = self.evaluate("document.body.innerText");
            panic!("never came true: {expression}\n{}", text.as_str().unwrap_or_default());
        }
    }

    /// Presses and releases a key.
    pub(crate) fn press(&mut self, key: Key) {
        let (name, code, number, text) = key.parts();
        let kind = if text.is_empty() { "rawKeyDown" } else { "keyDown" };
        self.page_loaded = false;
        for kind in [kind, "keyUp"] {
            let text = if kind == "keyUp" { "" } else { text };
            let held = if matches!(key, Key::Palette) { 2 } else { 0 };
            self.call(
                "Input.dispatchKeyEvent",
                json!({"type": kind, "key": name, "code": code, "windowsVirtualKeyCode": number, "text": text, "modifiers": held}),
            );
        }
    }

    /// Clicks the middle of an element, and once more if a change of the page moved the element away meanwhile, as a
    /// user would.
    pub(crate) fn click(&mut self, selector: &str) {
        // Without scripts no listener hears the click, and no live change moves anything.
        if !self.scripts_run {
            let point = self.press_mouse(selector);
            return self.release_mouse(&point);
        }
        for _ in 0..2 {
            self.evaluate(&format!(
                "missed = true;
                 addEventListener('click', (event) => {{ missed &&= !event.target.closest({selector:?}); }}, {{ capture: true }}); 0"
            ));
            let point = self.press_mouse(selector);
            self.release_mouse(&point);
            // A page that the click led to knows of no miss.
            let missed = self.call("Runtime.evaluate", json!({"expression": "globalThis.missed === true"}));
            if missed["result"]["value"] != json!(true) {
                return;
            }
        }
    }

    /// Presses the left button of the mouse over the middle of an element; returns the point as `[x, y]`, in CSS pixels.
    pub(crate) fn press_mouse(&mut self, selector: &str) -> Value {
        let middle = self.evaluate(&format!(
            "(() => {{
                const element = document.querySelector({selector:?});
                element.scrollIntoView({{ block: 'center', behavior: 'instant' }});
                const {{ x, y, width, height }} = element.getBoundingClientRect();
                return [x + width / 2, y + height / 2];
            }})()"
        ));
        self.page_loaded = false;
        self.mouse("mouseMoved", "none", &middle);
        self.mouse("mousePressed", "left", &middle);
        middle
    }

    /// Releases the button of the mouse at a point `[x, y]`.
    pub(crate) fn release_mouse(&mut self, point: &Value) {
        self.mouse("mouseReleased", "left", point);
    }

    fn mouse(&mut self, kind: &str, button: &str, point: &Value) {
        self.call(
            "Input.dispatchMouseEvent",
            json!({"type": kind, "x": point[0], "y": point[1], "button": button, "clickCount": 1}),
        );
    }

    /// Types text at the focus.
    pub(crate) fn type_text(&mut self, text: &str) {
        for character in text.chars() {
            let character = character.to_string();
            self.call(
                "Input.dispatchKeyEvent",
                json!({"type": "keyDown", "key": character, "text": character}),
            );
            self.call("Input.dispatchKeyEvent", json!({"type": "keyUp", "key": character}));
        }
    }

    /// Chooses files in a file field, as the user does in the browser's window for it.
    pub(crate) fn choose_files(&mut self, selector: &str, files: &[&Path]) {
        let found = self.call("DOM.getDocument", json!({}));
        let query = json!({"nodeId": found["root"]["nodeId"], "selector": selector});
        let node = self.call("DOM.querySelector", query)["nodeId"].clone();
        self.call("DOM.setFileInputFiles", json!({"nodeId": node, "files": files}));
    }

    /// Lets pages read and write the clipboard, as a user's click does.
    pub(crate) fn allow_clipboard(&mut self) {
        let permissions = json!(["clipboardReadWrite", "clipboardSanitizedWrite"]);
        self.call("Browser.grantPermissions", json!({"permissions": permissions}));
    }

    /// Replaces a text of the page, such as the path of a test's home, for a picture.
    pub(crate) fn replace_text(&mut self, text: &str, by: &str) {
        self.evaluate(&format!(
            "{{ const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
             for (let node; (node = walk.nextNode()); ) node.data = node.data.replaceAll({text:?}, {by:?}); }} 0"
        ));
    }

    /// Writes a picture of the whole page as PNG.
    pub(crate) fn screenshot(&mut self, file: &Path) {
        // A bar at the end of the window would lie in the middle of a longer page, so the window gets its height.
        let metrics = self.call("Page.getLayoutMetrics", json!({}));
        let (width, height) =
            (&metrics["cssLayoutViewport"]["clientWidth"], &metrics["cssLayoutViewport"]["clientHeight"]);
        let size = |height: &Value| {
            let is_phone = width.as_u64().is_some_and(|width| width < 500);
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": is_phone})
        };
        let whole =
            metrics["cssContentSize"]["height"].as_f64().unwrap().ceil().max(height.as_f64().unwrap());
        self.call("Emulation.setDeviceMetricsOverride", size(&json!(whole)));
        let answer = self.call("Page.captureScreenshot", json!({}));
        self.call("Emulation.setDeviceMetricsOverride", size(height));
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, from_base64(answer["data"].as_str().unwrap())).unwrap();
    }

    /// Returns a picture of the whole page at half its size, as PNG in base64.
    pub(crate) fn half_size_picture(&mut self) -> String {
        let size = self.call("Page.getLayoutMetrics", json!({}))["cssContentSize"].clone();
        let clip = json!({"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 0.5});
        let answer =
            self.call("Page.captureScreenshot", json!({"captureBeyondViewport": true, "clip": clip}));
        answer["data"].as_str().unwrap().to_owned()
    }

    /// Sets a preference of the user's system, such as `prefers-contrast`, beside the colour scheme.
    pub(crate) fn prefer(&mut self, feature: &str, value: &str, dark: bool) {
        let scheme = if dark { "dark" } else { "light" };
        let features = json!([
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": "reduce"},
            {"name": feature, "value": value},
        ]);
        self.call("Emulation.setEmulatedMedia", json!({"features": features}));
    }

    /// Asserts that no page complained so far.
    pub(crate) fn assert_no_page_errors(&mut self) {
        // The answer to this request comes after every earlier complaint.
        self.evaluate("1");
        assert!(self.complaints.is_empty(), "{}", self.complaints.join("\n"));
    }

    fn call(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        let id = self.last;
        let mut message = json!({"id": id, "method": method, "params": params});
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        let input = self.input.as_mut().unwrap();
        input.write_all(message.to_string().as_bytes()).unwrap();
        input.write_all(&[0]).unwrap();
        input.flush().unwrap();
        let answer = self.next(method, |message| message["id"] == json!(id));
        assert_eq!(answer["error"], Value::Null, "{method}: {answer}");
        answer["result"].clone()
    }

    fn next(&mut self, wanted: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let end = Instant::now() + DEADLINE + Duration::from_secs(5);
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let message = self.messages.recv_timeout(left);
            let message = message.unwrap_or_else(|error| panic!("chromium: no answer to {wanted}: {error}"));
            match message["method"].as_str() {
                Some(PAGE_LOADED) => self.page_loaded = true,
                Some("Log.entryAdded") if message["params"]["entry"]["level"] == json!("error") => {
                    self.complaints.push(message["params"]["entry"]["text"].to_string());
                }
                Some("Runtime.exceptionThrown") => {
                    self.complaints.push(message["params"]["exceptionDetails"].to_string());
                }
                _ => {}
            }
            if fits(&message) {
                return message;
            }
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The end of its pipe ends Chromium and its children.
        self.input = None;
        let end = Instant::now() + Duration::from_secs(5);
        while Instant::now() < end {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::park_timeout(Duration::from_millis(5));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn from_base64(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut held, mut bits) = (0u32, 0);
    for character in text.bytes() {
        let value = match character {
            b'A'..=b'Z' => character - b'A',
            b'a'..=b'z' => character - b'a' + 26,
            b'0'..=b'9' => character - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => break,
        };
        held = held << 6 | u32::from(value);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits & 0xff) as u8);
        }
    }
    bytes
}
