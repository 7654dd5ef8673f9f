"""The figures of several machines: workers over NATS, hubs on one PostgreSQL, traces. Prints one JSON object; scripts/bench calls it.

cluster.py ADJUTANT [PART...]     PART: tasks, claims, cancels, questions, repository, traces; all of them without one
cluster.py collector              a collector of traces, which prints its address

Real servers on loopback and the built program. Standard library only. A part whose server is not installed is left out, with a
line on stderr and its reason in the object.
"""

import json
import os
import re
import socket
import sqlite3
import statistics
import subprocess
import sys
import time
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from probe import TIMEOUT, Missed, call, line, milliseconds, HELLO, READY
from questions import Hub, User, percentile, question, until as until_line
from servers import Absent, Nats, Postgres, cpu_seconds, end_in_order
from site_of_tasks import Pipes, Site, Worker, ended_after, kept, quiet

ROUNDS = int(os.environ.get("ROUNDS", 3))
TASKS = 1_000
WORKERS, SLOTS_OF_WORKER = 3, 2
QUEUED, CLAIMS = 100_000, {100: 200, 10_000: 40}
CANCELS = 100
QUESTIONS = 100
REPOSITORY_FILES, LATER_TASKS = 200, 12
WINDOW, TRACE_ROUNDS, TRACE_SECONDS = 32, 9, 2.0
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def spread(name, values):
    return {f"{name} ms": statistics.median(values), f"{name} p99 ms": percentile(values, 0.99), f"{name} max ms": max(values)}


def tasks(adjutant):
    """Short tasks on three workers, against one hub alone with as many slots, in turns."""
    with ExitStack() as stack:
        nats, pipes = kept(stack, Nats()), kept(stack, Pipes())
        alone = kept(stack, Site(adjutant, pipes, WORKERS * SLOTS_OF_WORKER))
        far = kept(stack, Site(adjutant, pipes, 0, nats.url))
        for _ in range(WORKERS):
            kept(stack, Worker(adjutant, pipes, nats.url, SLOTS_OF_WORKER))
        far.wait_for_workers(WORKERS)
        for site in (alone, far):
            site.succeed(4 * WORKERS * SLOTS_OF_WORKER)
        on_hub, on_workers = [], []
        for _ in range(ROUNDS):
            on_hub.append(TASKS / alone.succeed(TASKS))
            on_workers.append(TASKS / far.succeed(TASKS))
        return {
            "tasks": TASKS, "rounds": ROUNDS, "hub tasks/s": statistics.median(on_hub), "workers tasks/s": statistics.median(on_workers),
            "workers to hub": statistics.median(far / near for near, far in zip(on_hub, on_workers)),
            "ratios": [round(far / near, 3) for near, far in zip(on_hub, on_workers)],
        }


COPIES = """
    INSERT INTO tasks (id, seq, caller, agent, runner, workdir, priority, root, depth, state, attempt, fence, created_at, machine)
    SELECT {id}, t.seq + n, 'c' || (n % {callers}), t.agent, t.runner, t.workdir, t.priority, {id}, 0, 'queued', 0, 0, t.created_at, t.machine
    FROM tasks t, {numbers} WHERE t.id = '{template}';
    INSERT INTO task_inputs (task, text, options) SELECT {id}, i.text, i.options FROM task_inputs i, {numbers} WHERE i.task = '{template}';
    INSERT INTO task_lanes (caller, runner, turn) SELECT 'c' || n, 'fake', 0 FROM {numbers} WHERE n < {callers} ON CONFLICT DO NOTHING;
"""
SPREAD = """
    UPDATE tasks SET caller = 'c' || (seq % {callers}) WHERE state = 'queued';
    INSERT INTO task_lanes (caller, runner, turn) SELECT 'c' || n, 'fake', 0 FROM {numbers} WHERE n < {callers} ON CONFLICT DO NOTHING;
"""


class SqliteQueue:
    """The queue of a hub without PostgreSQL; `sqlite3` is of the standard library."""

    id = "printf('%020d', n)"
    numbers = f"(WITH RECURSIVE ns(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM ns WHERE n < {QUEUED}) SELECT n FROM ns)"

    def __init__(self, site):
        self.file = site.home / ".adjutant/adjutant.db"

    def run(self, text):
        store = sqlite3.connect(self.file, timeout=TIMEOUT)
        try:
            store.executescript(f"BEGIN; {text}; COMMIT; ANALYZE;")
        finally:
            store.close()


class PostgresQueue:
    """The queue of a hub with PostgreSQL."""

    id = "lpad(CAST(n AS TEXT), 20, '0')"
    numbers = f"generate_series(1, {QUEUED}) AS n"

    def __init__(self, server):
        self.server = server

    def run(self, text):
        self.server.sql(f"BEGIN; {text}; COMMIT; ANALYZE;")


def claims_of(site, pipes, queue, name):
    """The durations of single claims. The hub has one slot, and each run waits until the claim before it was read from `/metrics`."""
    held = site.delegate("wait 0", "plain")
    pipes.next()
    template = site.delegate("wait 0", "plain")
    if held == template:
        raise Missed("two tasks have one id")
    queue.run(COPIES.format(id=queue.id, numbers=queue.numbers, callers=min(CLAIMS), template=template))
    figures = {}
    for callers, count in CLAIMS.items():
        if callers != min(CLAIMS):
            queue.run(SPREAD.format(numbers=queue.numbers, callers=callers))
        took, between = [], []
        total = ["adjutant_task_claim_seconds_sum", "adjutant_task_claim_seconds_count"]
        before = site.metric(*total)
        for _ in range(count + 20):
            since = time.perf_counter()
            pipes.open_gate()
            pipes.next()
            between.append(milliseconds(since))
            after = site.metric(*total)
            if after[1] != before[1] + 1:
                raise Missed(f"{after[1] - before[1]} claims in place of one")
            took.append((after[0] - before[0]) * 1000)
            before = after
        # The first ones read the new rows into the caches.
        figures |= spread(f"{name} claim, {callers} callers,", took[20:])
        figures[f"{name} next start, {callers} callers, ms"] = statistics.median(between[20:])
    return figures


def claims(adjutant):
    """Claims among very many queued tasks, on both engines."""
    figures = {"queued": QUEUED, "claims": max(CLAIMS.values())}
    with ExitStack() as stack:
        pipes = kept(stack, Pipes())
        site = kept(stack, Site(adjutant, pipes, 1))
        figures |= claims_of(site, pipes, SqliteQueue(site), "sqlite")
    with ExitStack() as stack:
        server, pipes = kept(stack, Postgres()), kept(stack, Pipes())
        site = kept(stack, Site(adjutant, pipes, 1, first=f'database = "{server.url}"\n'))
        figures |= claims_of(site, pipes, PostgresQueue(server), "postgres")
    return figures


def cancels(adjutant):
    """From the call of `task_cancel` on the hub to the end of the process on the worker."""
    with ExitStack() as stack:
        nats, pipes = kept(stack, Nats()), kept(stack, Pipes())
        site = kept(stack, Site(adjutant, pipes, 0, nats.url))
        kept(stack, Worker(adjutant, pipes, nats.url, 1))
        site.wait_for_workers(1)
        took, answered = [], []
        for number in range(CANCELS):
            task = site.delegate(f"sleep {number}")
            _, pid = pipes.next()
            # The worker has reported the start, and is quiet.
            time.sleep(0.1)
            since = time.perf_counter()
            site.peer.send(call(f"c{number}", "task_cancel", task_id=task))
            took.append(ended_after(pid, since))
            site.peer.answer(f"c{number}")
            answered.append(milliseconds(since))
            if (status := site.end_of(task)["status"]) != "cancelled":
                raise Missed(f"a cancelled task has the status {status}")
        return {"cancels": CANCELS} | spread("cancel", took) | {"cancel answered ms": statistics.median(answered)}


def questions(adjutant):
    """A question of one hub on an open page of another, and its answer there back at the asker."""
    with ExitStack() as stack:
        server, nats = kept(stack, Postgres()), kept(stack, Nats())
        first, workers = f'database = "{server.url}"\n', f'[workers]\nnats = "{nats.url}"\n'
        asked, other = (kept(stack, Hub(adjutant, lambda home: workers, first)) for _ in range(2))
        for hub in (asked, other):
            quiet(hub)
        console = other.connect("GET /events\naccept: text/event-stream\n").makefile("rb")
        until_line(console, b"hello")
        user = User(other)
        noticed, shown, answered = [], [], []
        for number in range(-2, QUESTIONS):
            # The console sends a few messages at once and the rest after 200 ms: this is a question a second.
            time.sleep(1)
            body = question(number)
            since = time.perf_counter()
            asker = asked.connect("POST /mcp?client=bench\nprefer: wait=60\n", body)
            while True:
                until_line(console, b"questions")
                seen = milliseconds(since)
                page, _ = other.get("/questions")
                if f">Question {number}<" in page:
                    break
            took = milliseconds(since)
            ticket = re.search(r"/questions/(q\w{20})", page.replace("&#x2f;", "/"))[1]
            answer = asker.makefile("rb")
            since = time.perf_counter()
            user.choose(ticket, "yes")
            head = answer.readline()
            back = milliseconds(since)
            if b" 200 " not in head:
                raise Missed(head.decode())
            user.receive()
            asker.close()
            if number >= 0:
                noticed.append(seen)
                shown.append(took)
                answered.append(back)
        return {"questions": QUESTIONS} | spread("noticed", noticed) | spread("shown", shown) | spread("answered", answered)


def repository(adjutant):
    """From a delegation to the start of its run on a worker, of a repository of 200 MB: the first task, and later ones."""
    with ExitStack() as stack:
        nats, pipes = kept(stack, Nats()), kept(stack, Pipes())
        site = kept(stack, Site(adjutant, pipes, 0, nats.url, files=[f"file-{n}" for n in range(REPOSITORY_FILES)]))
        kept(stack, Worker(adjutant, pipes, nats.url, 1))
        site.wait_for_workers(1)
        took = []
        for number in range(1 + LATER_TASKS):
            # An uncommitted change travels with each task.
            (site.work / "notes").write_text(f"{number}\n")
            since = time.perf_counter()
            task = site.delegate(f"mark {number}")
            pipes.next(180)
            took.append(milliseconds(since))
            if (status := site.end_of(task)["status"]) != "succeeded":
                raise Missed(f"a task ended as {status}")
        return {"repository MB": REPOSITORY_FILES, "first ms": took[0], "second ms": took[1], "later ms": statistics.median(took[1:]),
                "later max ms": max(took[1:]), "later": LATER_TASKS}


class Collector(BaseHTTPRequestHandler):
    """Counts spans; a `GET` returns their number."""

    protocol_version, spans = "HTTP/1.1", 0

    def do_POST(self):
        Collector.spans += self.rfile.read(int(self.headers["content-length"])).count(b'"spanId"')
        self.reply(b"{}")

    def do_GET(self):
        self.reply(str(Collector.spans).encode())

    def reply(self, text):
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


def collect():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


class Load:
    """Calls of a tool over the hub's socket, so many in flight that the hub is the slower side."""

    def __init__(self, hub, meta):
        self.hub = hub
        self.link = socket.socket(socket.AF_UNIX)
        self.link.settimeout(TIMEOUT)
        self.link.connect(str(hub.home / ".adjutant/hub.sock"))
        version = subprocess.run([hub.process.args[0], "--version"], capture_output=True, text=True).stdout.split()[-1]
        self.link.sendall(line({"adjutant": version, "hello": 1, "toolset": "prompts", "pid": os.getpid()}) + HELLO + READY)
        answers = self.link.makefile("rb")
        answers.readline()
        answers.readline()
        params = {"name": "expand_prompt", "arguments": {"command": "research", "input": "topic"}} | ({"_meta": meta} if meta else {})
        self.calls = b"".join(line({"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": params}) for n in range(1, WINDOW + 1))
        self.link.sendall(self.calls)
        if sum(b"Topic: topic" in answers.readline() for _ in range(WINDOW)) != WINDOW:
            raise Missed("an answer is not the expansion")

    def run(self):
        """Calls per second, and microseconds of the hub's CPU per call."""
        done, cpu, since = 0, cpu_seconds(self.hub.process.pid), time.perf_counter()
        while (took := time.perf_counter() - since) < TRACE_SECONDS:
            self.link.sendall(self.calls)
            left = WINDOW
            while left:
                left -= self.link.recv(1 << 20).count(b"\n")
            done += WINDOW
        return done / took, (cpu_seconds(self.hub.process.pid) - cpu) / done * 1e6


def traces(adjutant):
    """The same calls without and with a trace of the client and no collector, with as many other bytes, and with a collector, in turns."""
    with ExitStack() as stack:
        collector = subprocess.Popen([sys.executable, "-B", __file__, "collector"], stdout=subprocess.PIPE, text=True)
        stack.callback(collector.wait)
        stack.callback(collector.kill)
        endpoint = collector.stdout.readline().strip()

        def hub(tables):
            def more(home):
                (home / ".adjutant/prompts").mkdir(mode=0o700)
                (home / ".adjutant/prompts/research.md").write_text("---\ndescription: Research\n---\nTopic: {{input}}\n")
                return tables

            made = kept(stack, Hub(adjutant, more))
            quiet(made)
            return made

        off, on = hub(""), hub(f'[traces]\nendpoint = "{endpoint}"\n')
        meta = {"traceparent": TRACE}
        padded = {"example.org": TRACE}
        loads = {"bare": Load(off, None), "padded": Load(off, padded), "off": Load(off, meta), "on": Load(on, meta)}
        rates = {name: [] for name in loads}
        for _ in range(1 + TRACE_ROUNDS):
            for name, load in loads.items():
                rates[name].append(load.run())
        # The first round warms up.
        rates = {name: all[1:] for name, all in rates.items()}
        ratio = lambda name, at, other="bare": statistics.median(a[at] / b[at] for a, b in zip(rates[name], rates[other]))
        return {
            "bare calls/s": statistics.median(rate for rate, _ in rates["bare"]), "bare us of CPU": statistics.median(cpu for _, cpu in rates["bare"]),
            "padded to bare": ratio("padded", 0), "padded to bare, CPU": ratio("padded", 1), "off to bare": ratio("off", 0), "off to bare, CPU": ratio("off", 1), "on to bare": ratio("on", 0), "on to bare, CPU": ratio("on", 1),
            "off to padded": ratio("off", 0, "padded"), "off to padded, CPU": ratio("off", 1, "padded"),
            "off ratios": [round(a[0] / b[0], 3) for a, b in zip(rates["off"], rates["padded"])], "rounds": TRACE_ROUNDS,
        }


PARTS = {"tasks": tasks, "claims": claims, "cancels": cancels, "questions": questions, "repository": repository, "traces": traces}


def main():
    adjutant, *wanted = sys.argv[1:]
    if adjutant == "collector":
        return collect()
    end_in_order()
    figures = {}
    for name in wanted or PARTS:
        try:
            figures[name] = PARTS[name](adjutant)
        except Absent as why:
            print(f"cluster: {name} is left out: {why}", file=sys.stderr)
            figures[name] = {"absent": str(why)}
        except (Missed, OSError, KeyError, ValueError, TypeError, subprocess.SubprocessError, sqlite3.Error) as why:
            figures[name] = {"failed": f"{type(why).__name__}: {why}"}
        figures[name]["load"] = os.getloadavg()[0]
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
