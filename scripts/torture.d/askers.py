"""Askers: each asks one question after the other until it has the answer, in its way, while processes and connections end."""

import json
import signal
import subprocess
import threading
import time

import messages
import processes
import questions_plan
from http_link import Events, Gone, Link, ask

# Seconds that an asker tries to get one answer, and that a single call may take.
QUESTION_TIMEOUT, CALL_TIMEOUT = 90.0, 60.0

# Seconds after which an asker that cannot resume its stream asks again.
REPEAT_AFTER = 10.0

# Longest time in seconds in which a byte may have come unread when an asker cuts its connection. The hub looks for an
# acknowledgement after 2 ms.
MAX_CUT = 0.0015


class Asker:
    """What all askers share: the question at hand, and what is noted of responses."""

    def __init__(self, place, plan):
        self.place, self.plan, self.name = place, plan, plan["name"]
        self.folder = place.home / "w" / self.name
        self.folder.mkdir(parents=True, exist_ok=True)
        self.history = place.history
        self.abouts = {}
        self.asked, self.tries = None, 0
        self.ticket = None
        self.answered = threading.Event()

    def run(self):
        """Asks until the run ends."""
        number = 0
        while not self.place.draining.is_set():
            asked = questions_plan.question(self.place.world, self.plan, number)
            number += 1
            self.ask(asked)
            self.place.draining.wait(asked["pause"])

    def ask(self, asked):
        """Asks one question until its answer has come."""
        self.asked, self.tries, self.ticket = asked, 0, None
        self.answered.clear()
        end = time.monotonic() + QUESTION_TIMEOUT
        while not self.answered.is_set():
            if time.monotonic() > end:
                self.history.note("gave_up", asker=self.name, about=self.about(asked["title"]))
                return
            self.tries += 1
            try:
                self.attempt(asked, self.next_call())
            except Gone as error:
                self.history.note("gone", asker=self.name, reason=str(error))
                time.sleep(0.2)
            except TimeoutError:
                self.history.note("hang", who=f"{self.name}, {self.about(asked['title'])}")
        self.place.count()

    def about(self, title):
        return f"{title}@{self.name}"

    def next_call(self):
        """The id of the next request, and what the answer to it is about."""
        call = f"{self.name}-{self.asked['number']}-{len(self.abouts)}"
        self.abouts[call] = self.about(self.asked["title"])
        return call

    def note_asked(self, call):
        self.history.note("asked", asker=self.name, about=self.abouts[call], call=call)

    def take(self, message, event=None):
        """Notes a response, and the answers in it. Other messages are of no interest."""
        call = message.get("id")
        if call is None or "method" in message:
            return
        self.history.note("response", asker=self.name, call=call, event=event, error=message.get("error"))
        state, ticket = messages.status(message)
        if state == "pending":
            self.place.tickets.append(ticket)
        for title, value, ticket in messages.answers(message):
            about = self.about(title) if title else self.abouts.get(call, "?")
            self.history.note("received", asker=self.name, about=about, call=call, value=value, event=event, ticket=ticket)
            if about == self.about(self.asked["title"]):
                self.answered.set()

    def close(self):
        """Ends what the asker has open."""


class RelayAsker(Asker):
    """An asker with a process on a pipe: a relay, or the toolset in that process."""

    def __init__(self, place, plan):
        super().__init__(place, plan)
        self.relay = None
        self.lock = threading.Lock()

    @property
    def revision(self):
        return self.plan.get("revision")

    def command(self):
        if self.place.alone:
            return ["mcp", "popup", "--http", self.place.alone]
        if self.plan["kind"] == "popup":
            return ["mcp", "popup"]
        return ["connect", "popup" if self.plan["kind"] == "contract" else "all"]

    def ensure(self):
        """Starts the process if none runs, and does the handshake."""
        with self.lock:
            if self.relay and self.relay.process.poll() is None:
                return
            if self.relay:
                self.relay.close()
            self.relay = Relay(self)
        if self.revision and self.revision != messages.MODERN:
            call = f"{self.name}-init-{time.monotonic_ns()}"
            self.relay.send(messages.initialize(call, self.revision))
            if not self.relay.wait(call, CALL_TIMEOUT):
                raise Gone("the relay ended in its handshake")
            self.relay.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def attempt(self, asked, call):
        self.ensure()
        relay, mode = self.relay, asked["mode"] if self.tries == 1 else "waits"
        if self.plan["kind"] == "contract":
            message = messages.request(call, "triggerPopup", messages.arguments(asked, self.folder))
        else:
            waits = mode in ("waits", "slow", "half", "half-kill")
            message = self.tool(call, "triggerPopup", messages.arguments(asked, self.folder), waits)
        self.note_asked(call)
        line = json.dumps(message).encode() + b"\n"
        if mode.startswith("half"):
            self.fault("half line", hides=False)
            relay.write(line[: len(line) // 2])
            time.sleep(0.1)
            if mode == "half-kill":
                self.fault("kill -9 relay")
                relay.signal(signal.SIGKILL)
                return
            line = line[len(line) // 2 :]
        if mode == "slow":
            self.fault("slow reader", hides=False)
            relay.reads.clear()
        relay.write(line)
        if mode == "slow":
            time.sleep(1.0)
            relay.reads.set()
        if mode == "cancels" and not relay.wait(call, 0.4):
            self.fault("cancel", hides=False)
            relay.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": call}})
            return
        self.follow(relay, relay.wait(call, CALL_TIMEOUT), mode)

    def tool(self, call, name, given, progress=False):
        return messages.tool(call, name, given, self.revision == messages.MODERN, progress)

    def follow(self, relay, message, mode):
        """Does what a response asks for, until the answer is there or has to be asked for again."""
        end = time.monotonic() + CALL_TIMEOUT
        while message and not self.answered.is_set():
            state, ticket = messages.status(message)
            if state == "error" or mode == "again":
                time.sleep(0.1)
                return
            if time.monotonic() > end:
                raise TimeoutError
            call = self.next_call()
            if mode == "earlier" or not ticket:
                time.sleep(0.2)
                relay.send(self.tool(call, "list_prompts" if self.plan["kind"] == "relay" else "await_answer", {}))
            else:
                relay.send(self.tool(call, "await_answer", {"ticket": ticket, "seconds": 2}))
            message = relay.wait(call, CALL_TIMEOUT)
        if not message:
            time.sleep(0.3)

    def fault(self, kind, hides=True):
        # The process of a hub that is alone is everybody's.
        self.history.note("fault", kind=kind, asker=None if self.place.alone else self.name, hides=hides)

    def hurt(self, kind, seconds):
        """Ends or stops the process from outside."""
        relay = self.relay
        if not relay or relay.process.poll() is not None:
            return
        self.fault({"kill": "kill -9 relay", "term": "TERM relay", "stop": "STOP relay"}[kind])
        processes.hurt(relay, kind, seconds)

    def close(self):
        if self.relay and not self.relay.close():
            self.history.note("hang", who=f"the relay of {self.name} at the end of its input")


class Relay:
    """A process that speaks lines of JSON-RPC, with a thread that reads them."""

    def __init__(self, asker):
        place = asker.place
        self.asker = asker
        self.process = processes.start(
            [place.adjutant, *asker.command()], place.home, asker.folder,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=place.log,
        )
        self.responses, self.arrived, self.ended = {}, threading.Condition(), False
        self.reads = threading.Event()
        self.reads.set()
        asker.history.note("relay", asker=asker.name, pid=self.process.pid)
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        for line in self.process.stdout:
            self.reads.wait()
            try:
                message = json.loads(line)
            except ValueError:
                self.asker.history.note("hang", who=f"{self.asker.name} got a broken line: {line[:200]!r}")
                continue
            self.asker.take(message)
            if "method" not in message:
                with self.arrived:
                    self.responses[message.get("id")] = message
                    self.arrived.notify_all()
        with self.arrived:
            self.ended = True
            self.arrived.notify_all()

    def send(self, message):
        self.write(json.dumps(message).encode() + b"\n")

    def write(self, line):
        try:
            self.process.stdin.write(line)
            self.process.stdin.flush()
        except (OSError, ValueError):
            pass  # it has ended, which the reader notices

    def wait(self, call, seconds):
        """The response to a request; None when the process has ended or, within 1 s, has not answered yet."""
        with self.arrived:
            self.arrived.wait_for(lambda: self.ended or call in self.responses, seconds)
            found = self.responses.get(call)
        if not found and not self.ended and seconds > 1.0:
            raise TimeoutError
        return found

    def signal(self, number):
        if self.process.poll() is None:
            processes.send(self.process.pid, number)

    def close(self):
        """Ends the input and waits for the end; returns whether it came in time."""
        self.reads.set()
        try:
            self.process.stdin.close()
        except OSError:
            pass
        try:
            self.process.wait(15.0)
            return True
        except subprocess.TimeoutExpired:
            self.process.kill()
            return False
        finally:
            self.process.wait()
            self.thread.join(5.0)


class HttpAsker(Asker):
    """What the askers over HTTP share: their token, and cuts of their streams."""

    # The id of the last event, and the response that was last waited for.
    last = found = None

    def headers(self, **more):
        token = {"authorization": f"Bearer {self.place.token}"} if self.place.token else {}
        names = {name.replace("_", "-"): value for name, value in more.items()}
        return {"accept": "text/event-stream, application/json"} | token | names

    def cut_at(self):
        """The moment of the next planned cut."""
        cuts = self.asked["cuts"]
        return time.monotonic() + (cuts[self.tries - 1] if len(cuts) >= self.tries else CALL_TIMEOUT * 10)

    def cut(self, events):
        """Breaks a stream off, and takes what had arrived."""
        lines, gap = events.link.cut()
        self.history.note("fault", kind="cut stream", asker=self.name)
        if gap > MAX_CUT:
            self.history.note("unread", asker=self.name, about=self.about(self.asked["title"]), gap=gap)
        for line in lines:
            if event := events.take(line + b"\n"):
                self.take_event(event)

    def take_event(self, event):
        id, message = event
        if message:
            self.take(message, event=f"{self.stream()}/{id}" if id else None)

    def stream(self):
        """What an event's id is unique in."""
        return self.name

    def read(self, events, call, cut_at):
        """Reads a stream until the response to `call`, which is `found` then, its end or the cut; returns which."""
        self.found = None
        end = time.monotonic() + CALL_TIMEOUT
        while True:
            try:
                event = events.next(max(0.0, min(cut_at, end) - time.monotonic()))
            except TimeoutError:
                if cut_at < end:
                    self.cut(events)
                    return "answered" if self.answered.is_set() else "cut"
                raise
            if not event:
                events.link.close()
                return "ended"
            self.last = event[0] or self.last
            self.take_event(event)
            if event[1] and event[1].get("id") == call and "method" not in event[1]:
                self.found = event[1]
                return "answered"


class SessionAsker(HttpAsker):
    """An asker with an HTTP session: a cut stream is resumed, or its answer comes with the next result."""

    def __init__(self, place, plan):
        super().__init__(place, plan)
        self.session = None

    def stream(self):
        return self.session

    def in_session(self, **more):
        return self.headers(mcp_session_id=self.session, mcp_protocol_version=self.plan["revision"], **more)

    def ensure(self):
        if self.session:
            return
        hello = messages.initialize(f"{self.name}-init-{time.monotonic_ns()}", self.plan["revision"])
        status, headers, text = ask(self.place.address(), "POST", "/mcp", self.headers(), hello)
        if status != 200:
            raise Gone(f"initialize: {status} {text[:200]}")
        self.session = headers["mcp-session-id"]
        self.place.sessions.append(self.session)
        ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        ask(self.place.address(), "POST", "/mcp", self.in_session(), ready)

    def post(self, call, name, given):
        """Calls a tool in the session, and returns the events of its stream."""
        message = messages.tool(call, name, given, progress=True)
        link = Link(self.place.address(), "POST", "/mcp", self.in_session(), message)
        return self.opened(link)

    def opened(self, link):
        if link.status != 200:
            text = link.rest()
            if link.status == 404:
                self.session = None
            raise Gone(f"{link.status} {text[:200]}")
        return Events(link)

    def attempt(self, asked, call):
        self.ensure()
        self.last = None
        self.note_asked(call)
        events = self.post(call, "triggerPopup", messages.arguments(asked, self.folder))
        came = self.read(events, call, self.cut_at())
        if came == "answered":
            # The stream is read to its end, so that the response has arrived.
            if events.link.open:
                events.link.rest()
            return
        end = time.monotonic() + CALL_TIMEOUT
        while not self.answered.is_set():
            if time.monotonic() > end:
                raise TimeoutError
            if asked["resumes"] and self.last:
                more = self.in_session(last_event_id=self.last, accept="text/event-stream")
                events = self.opened(Link(self.place.address(), "GET", "/mcp", more))
                if self.read(events, call, end + 1) == "answered" and events.link.open:
                    events.link.rest()
            else:
                # What was refused, as on a full disk, was said on the stream that broke: it is asked again.
                if time.monotonic() > end - CALL_TIMEOUT + REPEAT_AFTER:
                    return
                again = self.next_call()
                events = self.post(again, "list_prompts", {})
                if self.read(events, again, end + 1) == "answered" and events.link.open:
                    events.link.rest()
            time.sleep(0.1)


class StatelessAsker(HttpAsker):
    """An asker that sends everything with each request, and asks again for what is pending."""

    def post(self, call, method, params, cut_at):
        """Sends a request and takes its response; None when the asker cut the connection before."""
        named = params.get("name") or params["taskId"]
        more = self.headers(mcp_protocol_version=messages.MODERN, mcp_method=method, mcp_name=named)
        link = Link(self.place.address(), "POST", f"/mcp?client={self.name}", more, messages.request(call, method, params))
        if "event-stream" in link.headers.get("content-type", ""):
            if self.read(Events(link), call, cut_at) == "answered" and link.open:
                link.rest()
            return self.found
        text = link.rest(CALL_TIMEOUT)
        message = json.loads(text) if text.startswith("{") else {"error": text}
        self.take(message)
        return message

    def attempt(self, asked, call):
        self.note_asked(call)
        tasks = self.plan["tasks"]
        params = messages.tool(call, "triggerPopup", messages.arguments(asked, self.folder), True, tasks=tasks)["params"]
        message = self.post(call, "tools/call", params, self.cut_at())
        while message and not self.answered.is_set():
            state, ticket = messages.status(message)
            if not ticket or state in ("error", "cancelled", "completed"):
                raise Gone(f"no ticket: {str(message)[:300]}")
            again = self.next_call()
            if tasks:
                time.sleep(0.2)
                message = self.post(again, "tasks/get", {"taskId": ticket, "_meta": messages.meta(True)}, time.monotonic() + 999)
            else:
                params = messages.tool(again, "await_answer", {"ticket": ticket, "seconds": 2}, True)["params"]
                message = self.post(again, "tools/call", params, time.monotonic() + 999)


class PostAsker(HttpAsker):
    """An asker of the contract over HTTP: a POST that is acknowledged, and the event stream of the same caller."""

    def __init__(self, place, plan):
        super().__init__(place, plan)
        self.events = None

    def path(self):
        return f"/mcp?client={self.name}"

    def open(self):
        """Opens the stream after the last event that came."""
        if self.events and self.events.link.open:
            return
        more = self.headers(accept="text/event-stream")
        if self.last:
            more["last-event-id"] = self.last
        link = Link(self.place.address(), "GET", self.path(), more)
        if link.status != 200:
            raise Gone(f"{link.status} {link.rest()[:200]}")
        self.events = Events(link)

    def attempt(self, asked, call):
        if self.tries > 1:
            # The same request once more is the same question.
            call = self.first
        self.first = call
        self.note_asked(call)
        prefer = asked["waits"] and self.tries == 1
        more = self.headers(**({"prefer": "wait=5"} if prefer else {}))
        message = messages.request(call, "triggerPopup", messages.arguments(asked, self.folder))
        status, _, text = ask(self.place.address(), "POST", self.path(), more, message)
        if status == 200:
            self.take(json.loads(text))
            return
        if status != 202:
            raise Gone(f"{status} {text[:200]}")
        self.history.note("queued", asker=self.name, call=call)
        end, cuts = time.monotonic() + CALL_TIMEOUT, list(asked["cuts"])
        while not self.answered.is_set():
            if time.monotonic() > end:
                raise TimeoutError
            try:
                self.open()
                cut_at = time.monotonic() + cuts.pop(0) if cuts else end + 1
                self.read(self.events, call, cut_at)
            except Gone:
                time.sleep(0.2)

    def close(self):
        if self.events:
            self.events.link.close()


def make(place, plan):
    """The asker of a plan."""
    kinds = {"session": SessionAsker, "stateless": StatelessAsker, "post": PostAsker}
    return kinds.get(plan["kind"], RelayAsker)(place, plan)
