"""A model of many developers on shared hubs, from inputs that are measured with the built program.

sizing.py ADJUTANT           measures the inputs and prints them as one JSON object
sizing.py --model INPUTS     prints the tables of docs/sizing.md from a file with that object

Standard library only, with real servers on loopback, as cluster.py.
"""

import json
import math
import os
import resource
import socket
import statistics
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path

from combined import share
from probe import TIMEOUT, Missed, Peer, line, memory, HELLO, READY
from questions import Hub, User, question, until as until_line
from servers import Absent, Nats, Postgres, cpu_seconds, end_in_order, until
from site_of_tasks import Pipes, Site, Worker, kept, quiet

QUESTIONS, TASKS, PAGES, IDLE_SECONDS = 200, 100, 100, 20
SESSIONS, STREAMS, RELAYS = 500, 300, 50
FLOOD, FLOOD_CONNECTIONS, FLOOD_HUBS = 1_500, 16, 3
OF_ONE_CLIENT = 50


class Machines:
    """Hubs on one PostgreSQL and one NATS server, and what they cost."""

    def __init__(self, stack, adjutant, hubs):
        self.postgres, self.nats = kept(stack, Postgres(log_statement="all", max_connections=200)), kept(stack, Nats())
        first, workers = f'database = "{self.postgres.url}"\n', f'[workers]\nnats = "{self.nats.url}"\n'
        self.hubs = []
        for _ in range(hubs):
            self.hubs.append(kept(stack, Hub(adjutant, lambda home: workers, first)))
            quiet(self.hubs[-1])

    def bytes(self):
        """The bytes of all tables with their indexes, without dead rows."""
        self.postgres.sql("VACUUM FULL;")
        return int(self.postgres.value("SELECT SUM(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"))

    def meters(self):
        log = self.postgres.log.read_bytes()
        nats = self.nats.figures()
        wal = int(self.postgres.value("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')"))
        return {
            "statements": log.count(b"LOG:  execute") + log.count(b"LOG:  statement"),
            "messages": nats["in_msgs"] + nats["out_msgs"], "message bytes": nats["in_bytes"] + nats["out_bytes"], "wal bytes": wal,
            "postgres cpu": self.postgres.cpu_seconds(), "nats cpu": cpu_seconds(self.nats.process.pid),
            "hubs cpu": sum(cpu_seconds(hub.process.pid) for hub in self.hubs),
        }

    def spent(self, act):
        """The differences of the meters over an act, and its seconds."""
        before, since = self.meters(), time.perf_counter()
        act()
        took = time.perf_counter() - since
        return {name: value - before[name] for name, value in self.meters().items()} | {"seconds": took}

    def idle(self, seconds=IDLE_SECONDS):
        spent = self.spent(lambda: time.sleep(seconds))
        return {name: value / spent["seconds"] for name, value in spent.items()}

    def connections(self):
        """The connections of hubs to PostgreSQL now."""
        return int(self.postgres.value("SELECT COUNT(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"))


def each(machines, idle, count, act):
    """What one of `count` equal acts costs, without what the idle machines cost."""
    spent = machines.spent(act)
    return {name: (value - idle.get(name, 0) * spent["seconds"]) / count for name, value in spent.items() if name != "seconds"}


def answered_questions(machines):
    """Questions of the first hub that are answered on the second one."""
    asked, other = machines.hubs[:2]
    user = User(other)
    user.send({"questions": "follow"})
    until_line(user.lines, b"current")
    answering = User(other)
    for number in range(QUESTIONS):
        asker = asked.connect(f"POST /mcp?client=c{number // OF_ONE_CLIENT}\nprefer: wait=60\n", question(number))
        ticket = None
        while not ticket:
            shown = json.loads(until_line(user.lines, f'"Question {number}"'.encode()))
            ticket = find(shown, "title", f"Question {number}")["ticket"]
        answering.choose(ticket, "yes")
        with asker, asker.makefile("rb") as answer:
            if b" 200 " not in (head := answer.readline()):
                raise Missed(head.decode())
        answering.receive()


def find(value, key, wanted):
    """The object within a value that has this member."""
    if isinstance(value, dict):
        if value.get(key) == wanted:
            return value
        value = list(value.values())
    found = (find(one, key, wanted) for one in value) if isinstance(value, list) else ()
    return next((one for one in found if one), None)


def of_questions(adjutant):
    """What a question costs, with two hubs and with four, which is what a hub that takes no part costs."""
    figures = {}
    for hubs in (2, 4):
        with ExitStack() as stack:
            machines = Machines(stack, adjutant, hubs)
            answered_questions(machines)
            before = machines.bytes()
            time.sleep(3)
            idle = machines.idle()
            figures[f"idle, {hubs} hubs"] = idle
            figures[f"connections, {hubs} idle hubs"] = machines.connections()
            figures[f"question, {hubs} hubs"] = each(machines, idle, QUESTIONS, lambda: answered_questions(machines))
            figures[f"connections, {hubs} busy hubs"] = machines.connections()
            figures["page"] = each(machines, idle, PAGES, lambda: [machines.hubs[0].get("/questions") for _ in range(PAGES)])
            figures["question bytes"] = (machines.bytes() - before) / QUESTIONS
            figures["hub MB"] = statistics.median(memory(hub.process.pid) for hub in machines.hubs)
            figures["nats MB"] = memory(machines.nats.process.pid)
            backends = machines.postgres.backends(share)
            figures["postgres MB of a connection"] = statistics.median(backends)
    return figures


def of_tasks(adjutant):
    """What a task on a worker costs, and an idle worker."""
    with ExitStack() as stack:
        machines, pipes = Machines(stack, adjutant, 0), kept(stack, Pipes())
        first = f'database = "{machines.postgres.url}"\n'
        site = kept(stack, Site(adjutant, pipes, 0, machines.nats.url, first))
        machines.hubs.append(site.hub)
        time.sleep(3)
        alone = machines.idle()
        workers = [kept(stack, Worker(adjutant, pipes, machines.nats.url, 1)) for _ in range(3)]
        until("all workers", lambda: int(machines.postgres.value("SELECT COUNT(*) FROM workers")) >= 3, pause=0.2)
        site.succeed(10, "report")
        time.sleep(3)
        with_workers = machines.idle()
        idle_workers = [memory(worker.process.pid) for worker in workers]
        before = machines.bytes()
        cpu = sum(cpu_seconds(worker.process.pid) for worker in workers)
        spent = each(machines, with_workers, TASKS, lambda: few_at_once(site))
        return {
            "idle, hub without workers": alone, "idle, with 3 workers": with_workers, "task": spent,
            "worker cpu of a task": (sum(cpu_seconds(worker.process.pid) for worker in workers) - cpu) / TASKS,
            "task bytes": (machines.bytes() - before) / TASKS, "worker MB": statistics.median(idle_workers),
            "busy hub MB": memory(site.hub.process.pid),
        }


def few_at_once(site):
    """Tasks of which each has a free worker, because the tickets of queued tasks are published again."""
    for first in range(0, TASKS, 3):
        for task in [site.delegate(f"report {number}") for number in range(first, min(first + 3, TASKS))]:
            if (status := site.end_of(task)["status"]) != "succeeded":
                raise Missed(f"a task ended as {status}")


def of_clients(adjutant):
    """What sessions, pages and relays weigh that wait."""
    hub = Hub(adjutant, lambda home: "", "")
    quiet(hub)
    open_links, relays = [], []
    try:
        hub.get("/")
        before = memory(hub.process.pid)
        hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "0"}}}
        for _ in range(SESSIONS):
            body = json.dumps(hello).encode()
            link = hub.connect("POST /mcp\naccept: application/json, text/event-stream\n", body)
            if b" 200 " not in (head := link.recv(65536).split(b"\r\n")[0]):
                raise Missed(head.decode())
            open_links.append(link)
        time.sleep(1)
        with_sessions = memory(hub.process.pid)
        for _ in range(STREAMS):
            link = hub.connect("GET /events\naccept: text/event-stream\n")
            until_line(link.makefile("rb"), b"hello")
            open_links.append(link)
        with_streams = memory(hub.process.pid)
        environment = hub.environment
        token = hub.home / "token"
        token.write_text("unused\n")
        token.chmod(0o600)
        remote = ["--hub", f"http://{hub.address[0]}:{hub.address[1]}", "--token-file", str(token)]
        weights = {}
        for name, more in (("relay", ["--no-start"]), ("remote relay", remote)):
            mine = [Peer.spawn([hub.process.args[0], "connect", *more], env=environment) for _ in range(RELAYS)]
            relays += mine
            for relay in mine:
                relay.greet()
            time.sleep(1)
            weights[f"{name} MB"] = statistics.median(share(relay.pid) for relay in mine)
            weights[f"{name} resident MB"] = statistics.median(memory(relay.pid) for relay in mine)
        return {"hub MB before": before, "session kB": (with_sessions - before) * 1024 / SESSIONS, "stream kB": (with_streams - with_sessions) * 1024 / STREAMS} | weights
    finally:
        for relay in relays:
            relay.close()
        for link in open_links:
            link.close()
        hub.remove()


def flood(hubs):
    """Questions per second that hubs store together."""
    share_of = FLOOD // len(hubs)
    faults = []

    def ask(hub, place, connection):
        try:
            with socket.create_connection(hub.address, TIMEOUT) as link, link.makefile("rb") as answers:
                for number in range(connection, share_of, FLOOD_CONNECTIONS):
                    body = question(f"{place}-{connection}-{number}")
                    link.sendall(hub.head(f"POST /mcp?client=f{place}-{number // OF_ONE_CLIENT}-{time.monotonic_ns()}", body) + body)
                    if b" 202 " not in (head := answers.readline()):
                        raise Missed(head.decode())
                    length = 0
                    while (row := answers.readline()) != b"\r\n":
                        if row.lower().startswith(b"content-length:"):
                            length = int(row.split(b":")[1])
                    answers.read(length)
        except (Missed, OSError, ValueError) as why:
            faults.append(why)

    threads = [threading.Thread(target=ask, args=(hub, place, n)) for place, hub in enumerate(hubs) for n in range(FLOOD_CONNECTIONS)]
    since = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if faults:
        raise Missed(f"{faults[0]}")
    return share_of * len(hubs) / (time.perf_counter() - since)


def of_rates(adjutant):
    """Questions that hubs of one database store each second, as fast as they can, on the cores that everything shares here."""
    with ExitStack() as stack:
        machines = Machines(stack, adjutant, FLOOD_HUBS)
        machines.postgres.sql("ALTER SYSTEM SET log_statement = 'none'; SELECT pg_reload_conf();".replace("; ", ";\n"))
        one = [flood(machines.hubs[:1]) for _ in range(3)]
        all = [flood(machines.hubs) for _ in range(3)]
        return {"stored/s by 1 hub": statistics.median(one), f"stored/s by {FLOOD_HUBS} hubs": statistics.median(all)}


PARTS = {"questions": of_questions, "tasks": of_tasks, "clients": of_clients, "rates": of_rates}


def measure(adjutant, wanted):
    end_in_order()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
    inputs = {"load before": os.getloadavg()[0]}
    for name in wanted or PARTS:
        try:
            inputs[name] = PARTS[name](adjutant)
        except Absent as why:
            print(f"sizing: {name} is left out: {why}", file=sys.stderr)
    inputs["load after"] = os.getloadavg()[0]
    print(json.dumps(inputs, indent=1))


if __name__ == "__main__":
    if sys.argv[1] == "--model":
        from sizing_model import print_model

        print_model(json.loads(Path(sys.argv[2]).read_text()))
    else:
        measure(sys.argv[1], sys.argv[2:])
