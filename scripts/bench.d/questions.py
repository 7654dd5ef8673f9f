"""The figures of questions to the user. Prints one JSON object; scripts/bench calls it.

questions.py ADJUTANT

Standard library only. Every hub has a separate home and listens on loopback; it is ended here, by its own pid.
"""

import json
import math
import re
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from probe import TIMEOUT, Missed, memory, milliseconds

PENDING = 10_000
# The default limit of pending questions of one client.
OF_ONE_CLIENT = 50
STREAMS = 1_000
ROUNDS = 30
# Questions one after the other that an open terminal view is shown.
FOLLOWED = 200


class Hub:
    """A hub without authentication, whose answers leave at once. `more` adds to its configuration, `first` goes before it."""

    def __init__(self, adjutant, more=lambda home: "", first=""):
        self.home = Path(tempfile.mkdtemp())
        (self.home / ".adjutant").mkdir(mode=0o700)
        (self.home / ".adjutant/config.toml").write_text(f"{first}[questions]\nundo_milliseconds = 0\n{more(self.home)}")
        self.environment = {"HOME": str(self.home), "PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": str(self.home)}
        self.process = subprocess.Popen(
            [adjutant, "serve", "--http", "127.0.0.1:0", "--auth", "none"],
            env=self.environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )
        for line in self.process.stderr:
            if found := re.search(r"http://(127\.0\.0\.1):(\d+)/mcp", line):
                self.address = (found[1], int(found[2]))
                return
        raise Missed("the hub did not print its address")

    def connect(self, head, body=b""):
        """A connection with this request sent on it."""
        link = socket.create_connection(self.address, TIMEOUT)
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        link.sendall(self.head(head, body) + body)
        return link

    def head(self, head, body=b""):
        host = f"host: {self.address[0]}:{self.address[1]}\r\n"
        length = f"content-type: application/json\r\ncontent-length: {len(body)}\r\n" if body else ""
        first, _, more = head.partition("\n")
        return (f"{first} HTTP/1.1\r\n{host}{length}" + more.replace("\n", "\r\n") + "\r\n").encode()

    def get(self, path):
        """The page at a path, and how many milliseconds it took from the first byte to the last."""
        since = time.perf_counter()
        with self.connect(f"GET {path}\nconnection: close\n") as link, link.makefile("rb") as answer:
            page = answer.read()
        took = milliseconds(since)
        if not page.startswith(b"HTTP/1.1 200"):
            raise Missed(page[:200].decode(errors="replace"))
        return page.partition(b"\r\n\r\n")[2].decode(), took

    def remove(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.home, ignore_errors=True)


def question(number):
    return json.dumps({"jsonrpc": "2.0", "id": f"r{number}", "method": "triggerPopup", "params": {
        "workspacePath": "/path/to/workspace", "title": f"Question {number}", "message": f"Deploy now, for the {number}. time?",
        "options": [{"label": "Yes", "value": "yes"}, {"label": "No", "value": "no"}]}}).encode()


def until(lines, wanted):
    for line in lines:
        if wanted in line:
            return line
    raise Missed(f"the stream ended before {wanted}")


class User:
    """A user's connection to the control API."""

    def __init__(self, hub):
        self.link = socket.socket(socket.AF_UNIX)
        self.link.settimeout(TIMEOUT)
        self.link.connect(str(hub.home / ".adjutant/hub.sock"))
        self.lines = self.link.makefile("rb")
        version = subprocess.run([hub.process.args[0], "--version"], capture_output=True, text=True).stdout.split()[-1]
        self.send({"adjutant": version, "hello": 1, "user": True})
        self.receive()

    def send(self, act):
        self.link.sendall(json.dumps(act).encode() + b"\n")

    def receive(self):
        answer = json.loads(self.lines.readline())
        if answer.get("error") or "rejected" in answer:
            raise Missed(json.dumps(answer))
        return answer

    def choose(self, ticket, value):
        answer = [["answer", {"choices": [value]}]]
        self.send({"questions": {"answer": {"ticket": ticket, "answer": answer, "note": None, "passphrase": None}}})


def percentile(values, share):
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def raised(hub, console, number, head="POST /mcp?client=bench\n"):
    """A question on its way to an open page: the connection that asks, the page, and the milliseconds."""
    body = question(number)
    since = time.perf_counter()
    asker = hub.connect(head, body)
    while True:
        until(console, b"questions")
        page, _ = hub.get("/questions")
        if f">Question {number}<" in page:
            return asker, page, milliseconds(since)


def followed(hub):
    """Questions on their way to an open terminal view, in milliseconds."""
    user = User(hub)
    user.send({"questions": "follow"})
    until(user.lines, b"current")
    shown = []
    for number in range(FOLLOWED):
        body = question(number)
        since = time.perf_counter()
        asker = hub.connect(f"POST /mcp?client=follow{number // OF_ONE_CLIENT}\n", body)
        until(user.lines, f'"Question {number}"'.encode())
        shown.append(milliseconds(since))
        asker.close()
    return shown


def interface(hub):
    """How soon an open terminal view shows a question."""
    shown = followed(hub)
    return {"shown ms": statistics.median(shown), "shown p99 ms": percentile(shown, 0.99), "shown": FOLLOWED}


def speed(hub):
    """The time of a question to an open console, and of an answer to its waiting caller."""
    console = hub.connect("GET /events\naccept: text/event-stream\n").makefile("rb")
    until(console, b"hello")
    user = User(hub)
    visible, answered, page_answered = [], [], []
    for number in range(ROUNDS):
        # The console sends a few messages at once and the rest after 200 ms: this is a question a second.
        time.sleep(1)
        asker, page, took = raised(hub, console, number, "POST /mcp?client=bench\nprefer: wait=60\n")
        visible.append(took)
        ticket = re.search(r"/questions/(q\w{20})", page.replace("&#x2f;", "/"))[1]
        answer = asker.makefile("rb")
        since = time.perf_counter()
        user.choose(ticket, "yes")
        head = answer.readline()
        answered.append(milliseconds(since))
        if b" 200 " not in head:
            raise Missed(head.decode())
        length = int(re.search(rb"content-length: (\d+)", b"".join(iter(answer.readline, b"\r\n")))[1])
        if json.loads(answer.read(length))["result"] != {"selectedValue": "yes"}:
            raise Missed("the answer differs from the given one")
        user.receive()
        asker.close()
    return {
        "visible ms": statistics.median(visible), "visible max ms": max(visible),
        "visible p99 ms": percentile(visible, 0.99),
        "answered ms": statistics.median(answered), "answered max ms": max(answered), "rounds": ROUNDS,
    }


def crowd(hub):
    """The hub's memory with very many questions pending, and its pages then."""
    idle = memory(hub.process.pid)
    since = time.perf_counter()
    quarters, quarter = [], since
    links = [socket.create_connection(hub.address, TIMEOUT) for _ in range(32)]
    files = [link.makefile("rb") for link in links]
    for first in range(0, PENDING, len(links)):
        if first >= (len(quarters) + 1) * PENDING // 4:
            quarters.append(milliseconds(quarter))
            quarter = time.perf_counter()
        numbers = range(first, min(first + len(links), PENDING))
        for number, link in zip(numbers, links):
            body = question(number)
            link.sendall(hub.head(f"POST /mcp?client=c{number // OF_ONE_CLIENT}", body) + body)
        for _, answer in zip(numbers, files):
            head = answer.readline()
            if b" 202 " not in head:
                raise Missed(head.decode())
            length = int(re.search(rb"content-length: (\d+)", b"".join(iter(answer.readline, b"\r\n")))[1])
            answer.read(length)
    took = milliseconds(since)
    quarters.append(milliseconds(quarter))
    for link in links:
        link.close()
    page, _ = hub.get("/questions")
    if f"{PENDING:,}" not in page and str(PENDING) not in page:
        raise Missed("the page does not count all questions")
    tickets = re.findall(r"/questions/(q\w{20})", page.replace("&#x2f;", "/"))
    pages = [hub.get("/questions")[1] for _ in range(20)]
    one = [hub.get(f"/questions/{ticket}")[1] for ticket in tickets[:20]]
    overview = [hub.get("/")[1] for _ in range(20)]
    return {
        "pending": PENDING, "entered ms": took, "first quarter ms": quarters[0], "last quarter ms": quarters[-1],
        "last to first": quarters[-1] / quarters[0], "idle MB": idle, "pending MB": memory(hub.process.pid),
        "peak MB": memory(hub.process.pid, "VmHWM"), "page ms": statistics.median(pages), "page max ms": max(pages),
        "question ms": statistics.median(one), "question max ms": max(one), "overview ms": statistics.median(overview),
    }


def streams(hub):
    """The hub's memory with very many open event streams, and how soon the last of them gets a question."""
    idle = memory(hub.process.pid)
    opened, files = [], []
    for _ in range(STREAMS):
        opened.append(hub.connect("GET /events\naccept: text/event-stream\n"))
        files.append(opened[-1].makefile("rb"))
        until(files[-1], b"hello")
    open_memory = memory(hub.process.pid)
    since = time.perf_counter()
    asker = hub.connect("POST /mcp?client=bench", question(0))
    for stream in files:
        until(stream, b"questions")
    notified = milliseconds(since)
    visible = []
    for number in range(1, ROUNDS + 1):
        time.sleep(1)
        another, _, took = raised(hub, files[-1], number)
        visible.append(took)
        another.close()
    shown = followed(hub)
    peak = memory(hub.process.pid, "VmHWM")
    for link in (asker, *opened):
        link.close()
    return {
        "streams": STREAMS, "without MB": idle, "streams MB": open_memory, "streams peak MB": peak, "all notified ms": notified,
        "crowded visible ms": statistics.median(visible), "crowded visible p99 ms": percentile(visible, 0.99),
        "crowded shown ms": statistics.median(shown), "crowded shown p99 ms": percentile(shown, 0.99),
    }


def print_figures(measures, start):
    """Prints the figures of all measures, each with a separate hub; a missed one is printed with those before it."""
    figures = {}
    try:
        for measure in measures:
            hub = start()
            try:
                figures |= measure(hub)
            finally:
                hub.remove()
    except (Missed, OSError, KeyError, ValueError, TypeError) as why:
        figures["failed"] = f"{type(why).__name__}: {why}"
    print(json.dumps(figures))


def main():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
    print_figures((interface, speed, crowd, streams), lambda: Hub(sys.argv[1]))


if __name__ == "__main__":
    main()
