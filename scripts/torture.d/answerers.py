"""The scripted user: interfaces that answer questions, each on a thread.

A question is known by its title and its workspace, which every interface shows. The plan says which interface answers it
first; the others take it after a while, so that a killed interface stops nobody.
"""

import html
import itertools
import re
import threading
import time
import urllib.parse

import processes
import questions_plan
from http_link import Gone, ask
from screen import Screen

# Seconds after which an interface takes a question that another one should have answered.
FALLBACK = 3.0


class Answerer(threading.Thread):
    """What all interfaces share: which question is theirs, and what they answer."""

    channel = ""

    def __init__(self, world):
        super().__init__(daemon=True)
        self.world, self.history = world, world.history
        self.numbers = itertools.count(1)
        self.since = {}

    def run(self):
        while not self.world.over.is_set():
            try:
                self.step()
            except (Gone, OSError, TimeoutError) as error:
                self.history.note("interface", channel=self.channel, reason=repr(error))
                self.world.over.wait(0.2)
        self.close()

    def close(self):
        """Ends what the interface has open."""

    def is_mine(self, about):
        """Whether this interface answers the question now, and with which option."""
        now = time.monotonic()
        since, last = self.since.get(about, (now, now))
        # The same words may be asked again later.
        since = since if now - last < 1.0 else now
        self.since[about] = (since, now)
        habits = questions_plan.habits(self.world.plan, about)
        return habits["channel"] == self.channel or habits["races"] or now - since > FALLBACK

    def choice(self, about, number=0):
        """What to answer: the number of an option and its value; without options, None and a text that is given once."""
        values = questions_plan.choices(about.rpartition("@")[0])
        if not values:
            return None, f"{self.channel}-{self.world.plan['name']}-{next(self.numbers)}"
        habits = questions_plan.habits(self.world.plan, about)
        # Of two interfaces that race, each answers something else.
        number = (number + (habits["races"] and habits["channel"] != self.channel)) % len(values)
        return number, values[number]

    def tried(self, about, value, ticket=None):
        self.history.note("tried", channel=self.channel, about=about, value=value, ticket=ticket)

    def accepted(self, about, value, ticket=None):
        self.world.accepted += 1
        self.history.note("accepted", channel=self.channel, about=about, value=value, ticket=ticket)


def folder(workspace):
    """The name of a workspace's folder."""
    return workspace.rstrip("/").rpartition("/")[2]


class Lines(Answerer):
    """`adjutant inbox --plain` in a terminal."""

    channel = "lines"

    def __init__(self, world):
        super().__init__(world)
        self.program = None
        self.reset()

    def reset(self):
        self.buffer, self.lock = b"", threading.Lock()
        self.open, self.sent, self.workspaces, self.last, self.undone = {}, {}, {}, None, set()
        # Tickets whose undo is not acknowledged yet: the question may be shown again before that.
        self.undoing = set()
        # What was typed for a ticket and has no response yet: it is typed again when the question is shown again, because
        # the response to either may come.
        self.typed = {}
        self.rests_until = 0.0

    def step(self):
        if not self.program or self.program.ended.is_set():
            self.close()
            self.reset()
            self.program = processes.Terminal([self.world.adjutant, "inbox", "--plain"], self.world.home, self.on_output)
        self.world.over.wait(0.05)
        with self.lock:
            if time.monotonic() < self.rests_until:
                return
            for ticket, about in list(self.open.items()):
                # One answer at a time, so that it is clear which one is accepted.
                if ticket in self.sent or ticket in self.undoing or not self.is_mine(about):
                    continue
                number, value = self.typed.get(ticket) or self.choice(about, ticket in self.undone)
                self.typed[ticket] = number, value
                self.sent[ticket] = (about, value)
                self.tried(about, value, ticket)
                self.program.type(f"{ticket} {value}\r" if number is not None else f"{ticket} ={value}\r")

    def on_output(self, part):
        with self.lock:
            *lines, self.buffer = (self.buffer + part).split(b"\n")
            for line in lines:
                self.on_line(line.decode(errors="replace").rstrip("\r"))

    def on_line(self, line):
        kind, _, rest = line.partition(" ")
        ticket, _, rest = rest.partition(" ")
        if kind == "QUESTION":
            self.last = ticket
            self.workspaces[ticket] = folder(re.sub(r", [^,]* left$", "", rest).rpartition(" in ")[2])
        elif line.startswith("  ") and self.last:
            self.open[self.last] = f"{line.strip()}@{self.workspaces[self.last]}"
            if self.last not in self.undoing:
                self.sent.pop(self.last, None)
            self.last = None
        elif kind == "PASSPHRASE":
            self.program.type(self.world.plan["passphrase"] + "\r")
        elif kind == "CLOSED":
            self.open.pop(ticket, None)
        elif kind == "REFUSED" and ticket in self.undoing:
            # It was too late, or the store does not answer: the answer counts.
            self.undoing.discard(ticket)
        elif kind == "REFUSED" and ticket in self.open:
            self.typed.pop(ticket, None)
            self.history.note("refused", channel=self.channel, ticket=ticket, reason=rest)
            self.sent.pop(ticket, None)
            if rest.startswith("it "):
                self.open.pop(ticket)
            self.rests_until = time.monotonic() + 0.3
        elif kind == "DONE" and ticket in self.sent:
            self.typed.pop(ticket, None)
            about, value = self.sent[ticket]
            if rest.startswith("undone"):
                self.history.note("undone", channel=self.channel, about=about, value=value, ticket=ticket)
                self.undone.add(ticket)
                self.undoing.discard(ticket)
                self.sent.pop(ticket)
            elif rest.startswith("answered"):
                self.accepted(about, value, ticket)
                self.open.pop(ticket, None)
                if "/undo" in rest and ticket not in self.undone and questions_plan.habits(self.world.plan, about)["undoes"]:
                    self.undoing.add(ticket)
                    self.program.type(f"{ticket} /undo\r")

    def close(self):
        if self.program:
            self.program.close()


class Console:
    """A browser's requests to the console, with its login and the token of its forms."""

    def __init__(self, world):
        self.world, self.cookie, self.csrf = world, None, None

    def get(self, path):
        """A page as text."""
        return self.ask("GET", path)[1]

    def post(self, path, fields):
        """Sends a form; returns the status."""
        for _ in range(2):
            if not self.csrf:
                self.csrf = re.search(r'name="csrf" value="(\w+)"', self.get("/questions"))[1]
            form = urllib.parse.urlencode({"csrf": self.csrf, "made": "0", **fields})
            status, _ = self.ask("POST", path, form)
            if status == 303:
                return status
            # A hub that started anew has another token.
            self.csrf = None
        return status

    def ask(self, method, path, body=""):
        """A request with the login; without one, or when it is refused, the browser logs in."""
        if not self.cookie:
            self.log_in()
        headers = {"cookie": self.cookie, "content-type": "application/x-www-form-urlencoded"}
        status, _, text = ask(self.world.address(), method, path, headers, body)
        if status == 401:
            self.cookie = None
            raise Gone("the login was refused")
        return status, text

    def log_in(self):
        link = self.world.login_link()
        found = re.search(r"http://([^/]+)(/login/\S+)", link or "")
        if not found:
            raise Gone(f"no login link: {link}")
        _, headers, _ = ask(found[1], "GET", found[2])
        self.cookie = headers.get("set-cookie", "").partition(";")[0]

    def pending(self):
        """The pending questions: their tickets, by what they are about."""
        rows = re.findall(r'href="/questions/(q\w+)">(.*?)</a>.*?(?:<code class="where">(.*?)</code>|</li>)', self.get("/questions").replace("&#x2f;", "/"), re.S)
        return {f"{html.unescape(title)}@{folder(html.unescape(where))}": ticket for ticket, title, where in rows}

    def standing(self, ticket):
        """What a question's page says about its outcome, as HTML."""
        page = self.get(f"/questions/{ticket}")
        return page.partition('id="standing"')[2].partition('class="columns"')[0]

    def is_decided(self, ticket, value):
        """Whether a question's page shows this answer."""
        return value in html.unescape(self.standing(ticket))


class Browser(Answerer):
    """The console."""

    channel = "browser"

    def __init__(self, world):
        super().__init__(world)
        self.console = Console(world)

    def step(self):
        self.world.over.wait(0.1)
        for about, ticket in self.console.pending().items():
            if self.is_mine(about):
                number, value = self.choice(about)
                self.tried(about, value, ticket)
                status = self.console.post(f"/questions/{ticket}", {"act": "answer", "f0": value if number is None else number})
                if status == 303 and self.console.is_decided(ticket, value):
                    self.accepted(about, value, ticket)


class Phone(Answerer):
    """A phone whose buttons are pressed. Whether a press counted is read in the console, as a user does."""

    channel = "phone"

    def __init__(self, world):
        super().__init__(world)
        self.console = Console(world)

    def step(self):
        notice = self.world.ntfy.notice(0.2)
        title = notice and notice["title"].partition(" asks: ")[2]
        if not title or not notice["actions"]:
            return
        found = [(about, ticket) for about, ticket in self.console.pending().items() if about.rpartition("@")[0] == title]
        if not found:
            return
        about, ticket = found[0]
        number, value = self.choice(about, len(title))
        self.tried(about, value, ticket)
        self.world.ntfy.press(notice["actions"][number])
        if processes.until(lambda: self.console.is_decided(ticket, value), 2.0):
            self.accepted(about, value, ticket)


class View(Answerer):
    """The Inbox as a view in a terminal, by its keys."""

    channel = "terminal"

    def __init__(self, world):
        super().__init__(world)
        self.program, self.screen, self.changed = None, Screen(), threading.Condition()

    def on_output(self, part):
        with self.changed:
            self.screen.feed(part.decode(errors="replace"))
            self.changed.notify_all()

    def shows(self, wanted, seconds):
        """The screen once `wanted` is true of it; None when the time is over."""
        with self.changed:
            self.changed.wait_for(lambda: wanted(self.screen.text()), seconds)
            text = self.screen.text()
        return text if wanted(text) else None

    def step(self):
        if not self.program or self.program.ended.is_set():
            self.close()
            self.screen = Screen()
            self.program = processes.Terminal([self.world.adjutant, "inbox"], self.world.home, self.on_output)
        text = self.shows(lambda text: re.search(r"(Deploy|Continue)[^\n]*\?", text) and "Enter" in text and "\n! " not in text, 0.5)
        # A question that another interface has answered stays in the list while that can be undone.
        rows = re.findall(r"^.(\d) .*\n(.*)$", text or "", re.MULTILINE)
        row = next((number for number, state in rows if "to undo" not in state), None)
        if not row:
            return
        self.program.type(row)
        screen = self.shows(lambda text: "Enter sends" in text, 2.0)
        about = screen and self.about(screen)
        if not about or not self.is_mine(about):
            self.program.type("\x1b")
            self.world.over.wait(0.3)
            return
        number, value = self.choice(about)
        if number is None:
            self.program.type(value)
            typed = self.shows(lambda text: value in text, 2.0)
        else:
            self.program.type(str(number + 1))
            typed = self.shows(lambda text: f"{number + 1} (•)" in text, 2.0)
        if typed:
            self.tried(about, value)
            self.program.type("\r")
            self.finish(about, value)
        screen = self.shows(bool, 0.1)
        if "Enter sends" in screen or "This question was" in screen:
            self.program.type("\x1b")
            self.world.over.wait(0.2)

    def finish(self, about, value):
        """Waits for what becomes of an answer, and gives the passphrase when it is asked for."""
        title = about.rpartition("@")[0]
        for _ in range(2):
            text = self.shows(lambda text: is_sent(text, title) or any(word in text for word in ("approval passphrase", "This question was", "\n! ")), 3.0)
            if text and is_sent(text, title):
                self.accepted(about, value)
                return
            if not text or "approval passphrase" not in text:
                return
            self.program.type(self.world.plan["passphrase"] + "\r")
            self.shows(lambda text: "approval passphrase" not in text, 3.0)

    def about(self, screen):
        """What the open question is about, by its title and its workspace."""
        title = re.search(r"(?:Deploy \S+ \w+|Continue)\?", screen)
        names = "|".join(re.escape(asker["name"]) for asker in self.world.plan["askers"])
        where = re.search(rf"\b({names})\b(?!-)", screen.replace(title[0], "") if title else screen)
        return f"{title[0]}@{where[1]}" if title and where else None

    def close(self):
        if self.program:
            self.program.close()


def is_sent(screen, title):
    """Whether the view has closed a question because its answer was accepted."""
    return f"answered: “{title}”" in screen and "Enter sends" not in screen and "This question was" not in screen


KINDS = {"lines": Lines, "browser": Browser, "phone": Phone, "terminal": View}
