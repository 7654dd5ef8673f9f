"""The first paint of the console in a real browser, and its pages with much in them. Prints one JSON object; scripts/bench
calls it.

console.py ADJUTANT

Standard library and Chromium, driven by its DevTools protocol over a pipe. Every page is opened in a new browser
context, so that nothing of the console is in a cache; hub and browser are ended here, by their own pids. A page of one word
takes turns with it: what that takes is the browser's own time on this machine at this minute. A page is opened once the new
window has loaded the browser's own pages and the machine is as quiet as QUIET (percent, default 15), a few seconds at most;
the busy share is printed.
"""

import json
import os
import shutil
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from questions import Hub, User, percentile, question
from probe import Missed

ROUNDS = 25
QUESTIONS = 40
PROMPTS = 30
# What the pages are measured with, and how often each.
MANY_QUESTIONS, MANY_PROMPTS, MANY_TASKS, PAGE_ROUNDS = 5_000, 10_000, 10_000, 20
# Questions on their way to an open page in the browser, and the number of the first.
SHOWN, FIRST_SHOWN = 100, 1_000
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage --hide-scrollbars --remote-debugging-pipe"
).split()
# The first paint, and the paint of the largest text, which is below the header; once both are there.
PAINTS = """new Promise(done => new PerformanceObserver(list => {
  const text = list.getEntries().find(one => !one.element?.closest("header"));
  if (!text) return;
  const first = performance.getEntriesByType("paint").find(one => one.name === "first-paint");
  const page = performance.getEntriesByType("navigation")[0];
  done({paint: first.startTime, content: text.renderTime, answer: page.responseEnd, loaded: page.loadEventEnd});
}).observe({type: "largest-contentful-paint", buffered: true}))"""

# The moment in which a question is in the list of the open page, and its ticket.
APPEARED = """new Promise(done => {
  const look = () => {
    const link = [...document.querySelectorAll("#results a.name")].find(one => one.textContent === TITLE);
    if (!link) return false;
    done([performance.timeOrigin + performance.now(), link.pathname.split("/").pop()]);
    return true;
  };
  const watch = new MutationObserver(() => look() && watch.disconnect());
  watch.observe(document.body, {subtree: true, childList: true});
})"""
LIVE = """new Promise(done => {
  const pulse = document.getElementById("pulse");
  const look = () => pulse.textContent === "Live" && done(true);
  new MutationObserver(look).observe(pulse, {childList: true, characterData: true, subtree: true});
  look();
})"""


class Browser:
    def __init__(self):
        program = next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None)
        if not program:
            raise Missed("there is no Chromium on the PATH")
        self.profile = tempfile.mkdtemp()
        # Chromium uses descriptors 3 and 4; a shell makes them of the two that a child has anyway.
        self.process = subprocess.Popen(
            ["sh", "-c", 'exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null', program, *FLAGS,
             f"--user-data-dir={self.profile}", "about:blank"],
            env={"HOME": self.profile, "PATH": "/usr/bin:/bin"},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )
        self.last = 0

    def receive(self):
        bytes = bytearray()
        while (byte := self.process.stdout.read(1)) != b"\0":
            if not byte:
                raise Missed("the browser ended")
            bytes += byte
        return json.loads(bytes)

    def call(self, method, session=None, **params):
        self.send(method, session, **params)
        return self.answer()

    def send(self, method, session=None, **params):
        self.last += 1
        message = {"id": self.last, "method": method, "params": params} | ({"sessionId": session} if session else {})
        self.process.stdin.write(json.dumps(message).encode() + b"\0")
        self.process.stdin.flush()

    def answer(self):
        """The answer to the request that was sent last."""
        while (answer := self.receive()).get("id") != self.last:
            pass
        if "error" in answer:
            raise Missed(json.dumps(answer["error"]))
        return answer["result"]

    def open(self, target, url):
        """Opens a page in a new tab; returns the tab's session once the page is loaded."""
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable", session)
        self.call("Page.navigate", session, url=url)
        while self.receive().get("method") != "Page.loadEventFired":
            pass
        return session

    def paints(self, url):
        """When the page at `url` was first painted, in milliseconds since somebody went there, and how busy the machine was."""
        context = self.call("Target.createBrowserContext")["browserContextId"]
        target = self.call("Target.createTarget", url="about:blank", browserContextId=context, width=1280, height=900)["targetId"]
        share = quiet()
        session = self.open(target, url)
        answer = self.call("Runtime.evaluate", session, expression=PAINTS, awaitPromise=True, returnByValue=True)
        self.call("Target.disposeBrowserContext", browserContextId=context)
        return answer["result"]["value"] | {"busy": share}

    def shown(self, hub, base):
        """How long questions take from their requests until an open page has them, in milliseconds."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.open(target, f"{base}questions")
        self.call("Runtime.evaluate", session, expression=LIVE, awaitPromise=True)
        user, times = User(hub), []
        for number in range(FIRST_SHOWN, FIRST_SHOWN + SHOWN):
            # The console sends a few messages at once and the rest after 200 ms: this is a question a second.
            time.sleep(1)
            appeared = APPEARED.replace("TITLE", json.dumps(f"Question {number}"))
            # The observer is there before the question is: the browser takes requests in their order.
            self.call("Runtime.evaluate", session, expression=f"globalThis.appeared = {appeared}; 0")
            self.send("Runtime.evaluate", session, expression="appeared", awaitPromise=True, returnByValue=True)
            since = time.time()
            with hub.connect("POST /mcp/popup?client=bench", question(number)) as link, link.makefile("rb") as answer:
                if b" 202 " not in (first := answer.readline()):
                    raise Missed(first.decode(errors="replace"))
                at, ticket = self.answer()["result"]["value"]
            times.append(at - since * 1000)
            user.choose(ticket, "yes")
            user.receive()
        self.call("Target.closeTarget", targetId=target)
        return times

    def remove(self):
        # The end of its pipe ends the browser, which removes what it made outside of its profile.
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)


class Bare(BaseHTTPRequestHandler):
    """A page of one word."""

    def do_GET(self):
        page = b"<!doctype html><title>bare</title><p>Bare</p>"
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, *_):
        pass

    def handle(self):
        try:
            super().handle()
        except ConnectionError:
            pass  # The browser opens connections that it then does not use.


def busy():
    """The share of the machine that was busy in a fifth of a second, in percent."""
    def times():
        with open("/proc/stat") as stat:
            row = [int(word) for word in stat.readline().split()[1:9]]
        return sum(row), row[3] + row[4]
    (all_before, idle_before), _, (all, idle) = times(), time.sleep(0.2), times()
    return 100 - 100 * (idle - idle_before) / max(1, all - all_before)


def quiet(within=5.0):
    """Waits until the machine is quiet, and returns how busy it was then."""
    end, most = time.monotonic() + within, float(os.environ.get("QUIET", "15"))
    while (share := busy()) > most and time.monotonic() < end:
        pass
    return share


def fill(hub):
    """Fills the hub as after a day: prompts, pending questions, and their timeline."""
    prompts = hub.home / ".adjutant/prompts"
    prompts.mkdir(parents=True, exist_ok=True)
    for number in range(PROMPTS):
        (prompts / f"prompt-{number}.md").write_text(f"---\ndescription: Number {number}.\n---\nText {{{{input}}}}\n")
    for number in range(QUESTIONS):
        with hub.connect(f"POST /mcp/popup?client=bench{number % 4}", question(number)) as link, link.makefile("rb") as answer:
            if b" 202 " not in (first := answer.readline()):
                raise Missed(first.decode(errors="replace"))


def fill_much(hub):
    """Writes prompts, questions and tasks as years leave them. The rows go into the database directly."""
    prompts = hub.home / ".adjutant/prompts"
    prompts.mkdir(parents=True, exist_ok=True)
    for number in range(MANY_PROMPTS):
        (prompts / f"much-{number}.md").write_text(f"---\ndescription: Looks at part {number} of the shop.\n---\nText {{{{input}}}}\n")
    now = int(time.time() * 1000)
    form = json.dumps({"default": None, "fields": [{"name": "answer", "label": "", "description": "", "required": True, "input": {
        "kind": "choice", "options": [{"label": "Yes", "value": "yes"}, {"label": "No", "value": "no"}], "min": 1, "max": 1, "other": False}}]})
    with sqlite3.connect(hub.home / ".adjutant/adjutant.db", timeout=20) as rows:
        first = rows.execute("SELECT COALESCE(MAX(seq), 0) FROM questions").fetchone()[0]
        for number in range(first + 1, first + 1 + MANY_QUESTIONS):
            ticket = f"q{number:020}"
            rows.execute(
                "INSERT INTO questions (id, seq, fingerprint, asker, client, workspace, title, level, state, asked_at, deadline, seen_ms)"
                " VALUES (?, ?, ?, 'bench', 'claude-code', '/srv/shop', ?, 'normal', 'pending', ?, ?, 0)",
                (ticket, number, ticket, f"May I change part {number}?", now, now + 86_400_000))
            rows.execute("INSERT INTO question_bodies VALUES (?, ?, ?)", (ticket, "It prints the **prices**.\n\n" * 4, form))
            rows.execute("INSERT INTO question_deliveries (question, asker, stream, request, session, asked_at)"
                         " VALUES (?, 'bench', '', '', 's', ?)", (ticket, now))
        rows.execute("UPDATE question_counts SET pending = (SELECT COUNT(*) FROM questions WHERE state = 'pending')")
        options = json.dumps({"label": "claude-code", "persona": "", "model": None, "runner": None, "permission": "read-only", "timeout_ms": 1,
                              "keep": False, "env": {}, "schema": None, "checks": [], "isolation": "none"})
        checks = [{"command": ["npm", "test"], "passed": False, "exit": 1, "wall_ms": 1, "processes_left": 0, "output_tail": "1 failed\n" * 40}]
        outcome = json.dumps({"status": "succeeded", "verdict": "refuted", "message": "Sorted the table by time.\n" * 40,
                              "run_report": {"attempts": [], "commands": [], "checks": checks, "wall_ms": 1, "cpu_ms": 1, "processes_left": 0, "usage": {}}}, separators=(",", ":"))
        for number in range(1, 1 + MANY_TASKS):
            task = f"bench{number:015}"
            rows.execute(
                "INSERT INTO tasks (id, seq, caller, agent, runner, workdir, priority, parent, root, depth, state, attempt, fence, hub, lease_until,"
                " failure, created_at, started_at, ended_at) VALUES (?, ?, 'bench', 'reviewer', 'codex', '/srv/shop', 0, NULL, ?, 0, 'succeeded', 1, 1,"
                " NULL, NULL, NULL, ?, ?, ?)", (task, number, task, now, now, now))
            rows.execute("INSERT INTO task_inputs VALUES (?, ?, ?)", (task, f"Review change {number} of the shop, its tests and its texts.", options))
            rows.execute("INSERT INTO task_results VALUES (?, 'bench', ?, ?)", (task, outcome, now))


def wire(hub):
    """The bytes that a browser without anything in its cache gets for the Inbox: the page, style sheet, script, font and icon."""
    page = hub.get("/")[0]
    files = {path for path in page.replace("&#x2f;", "/").split('"') if path.startswith("/static/") and not path.endswith("webmanifest")}
    return sum(len(on_the_wire(hub, path)) for path in ["/", *files])


def on_the_wire(hub, path):
    """The bytes of a compressed answer, with its head."""
    with socket.create_connection(hub.address, 10) as link:
        link.sendall(f"GET {path} HTTP/1.1\r\nhost: {hub.address[0]}:{hub.address[1]}\r\naccept-encoding: gzip\r\nconnection: close\r\n\r\n".encode())
        answer = b""
        while part := link.recv(1 << 16):
            answer += part
        return answer


def pages(hub):
    """What the pages take at the server with much in them: milliseconds by path."""
    fill_much(hub)
    last = f"/questions/q{MANY_QUESTIONS // 2:020}"
    found = {}
    for path in ("/", "/questions", "/questions?q=part+4999", "/questions?kind=approval", "/questions/approvals", last, "/history",
                 "/history?q=nothing", "/tasks", "/tasks?q=shop", "/tasks?q=nothing", "/tasks?state=failed", f"/tasks/bench{MANY_TASKS // 2:015}",
                 "/timeline", "/timeline?q=nothing", "/prompts", "/prompts?q=part+999", "/prompts/much-1", "/find?q=shop", "/find?q=nothing",
                 "/find?q=part+of+nothing", "/agents", "/agents/reviewer", "/codex", "/calendar", "/keys", "/settings", "/settings/access",
                 "/settings/notifications", "/settings/workers"):
        hub.get(path)
        times = []
        for _ in range(PAGE_ROUNDS):
            start = time.perf_counter()
            hub.get(path)
            times.append((time.perf_counter() - start) * 1000)
        found[path] = [round(statistics.median(times), 1), round(max(times), 1)]
    return found


def measure(adjutant):
    hub, browser = Hub(adjutant), Browser()
    bare = ThreadingHTTPServer(("127.0.0.1", 0), Bare)
    threading.Thread(target=bare.serve_forever, daemon=True).start()
    try:
        fill(hub)
        url = "http://{}:{}/".format(*hub.address)
        if "Question 0" not in hub.get("/")[0]:
            raise Missed("the overview shows no question")
        word = "http://{}:{}/".format(*bare.server_address)
        turns = [(browser.paints(url), browser.paints(word)) for _ in range(ROUNDS)]
        # The first starts the browser's own processes.
        first, rest = turns[0][0], [console for console, _ in turns[1:]]
        paints = [one["paint"] for one in rest]
        visible = browser.shown(hub, url)
        return {
            "paint ms": statistics.median(paints), "paint p90 ms": statistics.quantiles(paints, n=10)[-1],
            "paint max ms": max(paints), "bare ms": statistics.median(bare["paint"] for _, bare in turns[1:]),
            "first browser paint ms": first["paint"],
            "content ms": statistics.median(one["content"] for one in rest),
            "page ms": statistics.median(one["answer"] for one in rest),
            "loaded ms": statistics.median(one["loaded"] for one in rest),
            "shown ms": statistics.median(visible), "shown p99 ms": percentile(visible, 0.99), "shown": len(visible),
            "page bytes": len(hub.get("/")[0].encode()), "of": len(rest),
            "machine busy %": statistics.median(one["busy"] for one in rest), "wire bytes": wire(hub), "pages": pages(hub),
        }
    finally:
        bare.shutdown()
        browser.remove()
        hub.remove()


if __name__ == "__main__":
    try:
        print(json.dumps(measure(sys.argv[1])))
    except (Missed, OSError) as fault:
        print(json.dumps({"failed": str(fault)}))
