"""The process of the clients of the subject `tasks` that connect over MCP, in a separate session: agents of the user.

tasks_clients.py GIVEN    GIVEN is a file with the plan, the home and the time at which the run began

It ends when a line comes on stdin, or stdin ends, and every client has followed its last task as far as it wanted to.
"""

import hashlib
import json
import os
import sys
import threading
import time
from pathlib import Path

import messages
import processes
import tasks_plan
from askers import Relay
from http_link import Gone, ask
from history import History

# Seconds in which a call must be answered, and a task must have ended: it takes 5 s once it runs, but many may be queued.
CALL_TIMEOUT, TASK_TIMEOUT = 90.0, 300.0

# The characters of a message that every result has.
MAX_MESSAGE = 8 * 1024

# The states of tasks that have ended.
ENDED = ("succeeded", "failed", "cancelled", "lost")


def outcomes(value):
    """The outcomes in a response: every object in it, or in JSON texts of it, that names an ended task."""
    if isinstance(value, list):
        for inner in value:
            yield from outcomes(inner)
    elif isinstance(value, dict):
        if value.get("status") in ENDED and ("task_id" in value or "outcome" in value):
            yield value.get("task_id") or value["id"], value["status"], value.get("outcome") or value
            return
        if isinstance(value.get("text"), str) and value["text"].startswith("Tasks that you delegated earlier have ended: "):
            value = json.loads(value["text"].partition(": ")[2])
            yield from outcomes(value)
            return
        for inner in value.values():
            yield from outcomes(inner)


def clip(message):
    """A message in a few characters that differ where two messages do. What is appended to another result has its beginning
    alone, so more does not count."""
    message = (message or "")[:MAX_MESSAGE]
    return message if len(message) < 200 else f"{message[:40]}… {hashlib.sha1(message.encode()).hexdigest()}"


class Client:
    """What all clients share: the task at hand, and what is noted of responses."""

    def __init__(self, place, plan):
        self.place, self.plan, self.name = place, plan, plan["name"]
        self.history, self.folder = place.history, place.home / "w"
        # Of the task at hand: in the arguments of its processes.
        self.count, self.mark = 0, None

    def run(self):
        """Delegates one task after the other until the run ends."""
        number = 0
        while not self.place.draining.is_set():
            asked = tasks_plan.task(self.place.seed, self.plan, number)
            number += 1
            self.mark = tasks_plan.mark(self.place.seed, self.place.pid, asked["digits"])
            self.history.note("asked", client=self.name, key=asked["key"], agent=asked["agent"], mode=asked["mode"], way=asked["way"])
            try:
                self.follow(asked)
            except Gone as error:
                self.history.note("gone", client=self.name, key=asked["key"], reason=str(error)[:300])
                self.place.draining.wait(0.3)
            except TimeoutError:
                self.history.note("hang", who=f"{self.name}, {asked['key']}")
            self.place.draining.wait(asked["pause"])
        self.close()

    def arguments(self, asked, contract=False):
        """The arguments of `delegate_task`."""
        given = {"agent": asked["agent"], "task": tasks_plan.text(self.place.seed, self.place.pid, asked), "working_directory": str(self.folder)}
        if not contract and asked["timeout"]:
            given["timeout_seconds"] = asked["timeout"]
        return given

    def take(self, message):
        """Notes what a response says about tasks; returns its structured content."""
        found = message.get("result") or {}
        content = found.get("structuredContent") or {}
        for task, status, outcome in outcomes(found):
            # At once, before anything else can end what should be gone already.
            mark = self.mark if task == content.get("task_id") else self.place.marks.get(task)
            left = processes.with_argument(mark) if mark and not outcome.get("run_report", {}).get("is_uncounted") else []
            self.history.note("given", client=self.name, task=task, status=status, message=clip(outcome.get("message")), left=left)
        if "error" in message:
            self.history.note("refused", client=self.name, error=message["error"])
        return content

    def accept(self, asked, content):
        """Notes the id of an accepted task, and returns it."""
        task = content.get("task_id")
        if task:
            self.place.marks[task] = self.mark
            self.history.note("accepted", client=self.name, key=asked["key"], task=task)
        return task

    def cancelling(self, asked):
        self.history.note("cancel", client=self.name, key=asked["key"])

    def follow(self, asked):
        """Delegates a task with `self.call`, and follows it as its plan says."""
        way = asked["way"]
        arguments = self.arguments(asked)
        if way == "waits":
            content = self.call("delegate_task", arguments)
        else:
            content = self.call("delegate_task", arguments | {"background": True})
        task = self.accept(asked, content)
        if way == "background-cancel" and task:
            self.place.draining.wait(asked["patience"])
            self.cancelling(asked)
            content = self.call("task_cancel", {"task_id": task})
        end = time.monotonic() + TASK_TIMEOUT
        while task and content.get("status") in (None, "queued", "running"):
            if time.monotonic() > end:
                raise TimeoutError
            if way == "polls":
                time.sleep(0.2)
                content = self.call("task_get", {"task_id": task})
            else:
                content = self.call("task_wait", {"task_id": task, "seconds": 5})

    def close(self):
        """Ends what the client has open."""


class RelayClient(Client):
    """A client with a relay."""

    relay = None

    def __init__(self, place, plan):
        super().__init__(place, plan)
        self.revision = "2024-11-05" if plan["kind"] == "contract" else ("2025-06-18", "2025-11-25")[plan["number"] % 2]

    def command(self):
        return ["connect", "agents"]

    def ensure(self):
        """Starts a relay if none runs, and does the handshake."""
        if self.relay and self.relay.process.poll() is None:
            return
        self.close()
        self.relay = Relay(self)
        self.answer(self.send(messages.initialize("hello", self.revision)))
        self.relay.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message):
        self.relay.send(message)
        return message["id"]

    def answer(self, call):
        message = self.relay.wait(call, CALL_TIMEOUT)
        if not message:
            raise Gone("the relay ended")
        return message

    def next_call(self):
        self.count += 1
        return f"{self.name}-{self.count}"

    def call(self, name, arguments):
        self.ensure()
        message = self.answer(self.send(messages.tool(self.next_call(), name, arguments)))
        if "error" in message:
            raise Gone(str(message["error"]))
        return message["result"].get("structuredContent") or {}

    def follow(self, asked):
        if asked["way"] not in ("drops", "cancels") and self.plan["kind"] != "contract":
            return super().follow(asked)
        self.ensure()
        # With a progress token, so that the call lasts as long as the task.
        call = self.send(messages.tool(self.next_call(), "delegate_task", self.arguments(asked, self.plan["kind"] == "contract"), progress=True))
        if asked["way"] == "drops":
            time.sleep(asked["patience"])
            self.history.note("dropped", client=self.name, key=asked["key"])
            return self.close()
        if asked["way"] == "cancels" and not self.relay.wait(call, asked["patience"] / 2.01):
            self.cancelling(asked)
            self.relay.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": call}})
            return None
        message = self.answer(call)
        if self.plan["kind"] == "contract" and "result" in message:
            text = "\n".join(block["text"] for block in message["result"]["content"])
            status = "failed" if message["result"].get("isError") else "succeeded"
            self.history.note("given", client=self.name, key=asked["key"], status=status, message=text[:MAX_MESSAGE])
        return None

    def hurt(self, kind, seconds):
        """Ends or stops the relay from outside."""
        relay = self.relay
        if not relay or relay.process.poll() is not None:
            return
        self.history.note("fault", target="relay", kind=kind, client=self.name)
        processes.hurt(relay, kind, seconds)

    def close(self):
        if self.relay and not self.relay.close():
            self.history.note("hang", who=f"the relay of {self.name} at the end of its input")
        self.relay = None


class HttpClient(Client):
    """A client over HTTP, with a session or without."""

    session = None

    def address(self):
        entry = processes.hub(self.place.home)
        if not entry or not entry["http"]:
            raise Gone("no hub runs")
        return entry["http"]

    def headers(self, **more):
        names = {name.replace("_", "-"): value for name, value in more.items()}
        return {"accept": "text/event-stream, application/json", "authorization": f"Bearer {self.place.token}"} | names

    def path(self):
        return f"/mcp/agents?client={self.name}"

    def open(self):
        hello = messages.initialize(f"{self.name}-hello", "2025-06-18")
        status, headers, text = ask(self.address(), "POST", self.path(), self.headers(), hello)
        if status != 200:
            raise Gone(f"initialize: {status} {text[:200]}")
        self.session = headers["mcp-session-id"]
        ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        ask(self.address(), "POST", self.path(), self.headers(mcp_session_id=self.session), ready)

    def call(self, name, arguments):
        self.count += 1
        call, has_session = f"{self.name}-{self.count}", self.plan["kind"] == "session"
        if has_session and not self.session:
            self.open()
        message = messages.tool(call, name, arguments, not has_session)
        more = {"mcp_session_id": self.session} if has_session else {
            "mcp_protocol_version": messages.MODERN, "mcp_method": "tools/call", "mcp_name": name,
        }
        try:
            status, _, text = ask(self.address(), "POST", self.path(), self.headers(**more), message, CALL_TIMEOUT)
        except Gone as error:
            if "in time" in str(error) or "does not end" in str(error):
                raise TimeoutError from error
            raise
        if status == 404:
            self.session = None
        lines = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith(("data: {", "{"))]
        for line in lines:
            answer = json.loads(line)
            if answer.get("id") == call and "method" not in answer:
                content = self.take(answer)
                if "error" in answer:
                    raise Gone(str(answer["error"]))
                return content
        raise Gone(f"{status} {text[:200]}")


class Place:
    """What the clients share."""

    def __init__(self, given):
        self.seed, self.pid, self.home = given["plan"]["seed"], given["pid"], Path(given["home"])
        self.adjutant, self.began, self.token = given["adjutant"], given["began"], given["token"]
        self.history = History(given["history"])
        self.log = os.open(given["log"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self.draining = threading.Event()
        # By task: the mark of its processes.
        self.marks = {}


def hurt_relays(place, faults, clients):
    """Carries out the planned faults of relays."""
    for number, fault in enumerate(faults):
        if place.draining.wait(max(0.0, place.began + fault["at"] - time.monotonic())):
            return
        clients[number % len(clients)].hurt(fault["kind"], fault["seconds"])


def main():
    given = json.loads(Path(sys.argv[1]).read_text())
    place = Place(given)
    kinds = {"contract": RelayClient, "relay": RelayClient, "stateless": HttpClient, "session": HttpClient}
    clients = [kinds[plan["kind"]](place, plan) for plan in given["plan"]["clients"] if plan["kind"] in kinds]
    faults = [fault for fault in given["plan"]["faults"] if fault["target"] == "relay"]
    threads = [threading.Thread(target=client.run, daemon=True) for client in clients]
    relays = [client for client in clients if isinstance(client, RelayClient)]
    for thread in [*threads, threading.Thread(target=hurt_relays, args=(place, faults, relays), daemon=True)]:
        thread.start()
    sys.stdin.readline()
    place.draining.set()
    for client, thread in zip(clients, threads):
        thread.join(2 * TASK_TIMEOUT)
        if thread.is_alive():
            place.history.note("hang", who=f"the client {client.name} at the end")


if __name__ == "__main__":
    main()
