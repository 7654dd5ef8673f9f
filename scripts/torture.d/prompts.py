"""The subject `prompts`: two prompt folders that change in every way while a server serves them."""

import json
import os
import shutil
import signal
import subprocess
import time

import history
import messages
import processes
import prompts_checker
import prompts_plan

# Seconds in which a change must be shown, or the file counts as lost; the promise is prompts_checker.PROMISED.
SHOW_TIMEOUT = 20.0

# Texts that are read after each step, at most; the names are always compared in full.
MAX_TEXTS = 20

# Writes while the server stands still: more than the kernel queues for a watcher (fs.inotify.max_queued_events is 16,384).
OVERFLOW = 20_000


def run(seed, seconds, limit, adjutant, folder):
    """Runs for so many seconds, or until `limit` steps were taken. Returns the figures and what is broken."""
    folders = Folders(folder)
    notes = history.History(folder / "history.jsonl")
    began = time.monotonic()
    server = Server(adjutant, folder, folders.roots)
    try:
        follow(server, folders, notes, {"number": 0, "kind": "start"}, set())
        for step in prompts_plan.steps(seed):
            if time.monotonic() > began + seconds or (limit and step["number"] > limit):
                break
            changed = folders.change(step, server)
            follow(server, folders, notes, step, changed)
    except Unanswered:
        notes.note("hang", who="a request to the server")
    finally:
        server.end()
    events = history.read(notes.path)
    broken = prompts_checker.check(events)
    figures = prompts_checker.summary(events, broken)
    figures["seconds"] = round(time.monotonic() - began)
    return figures, broken


def follow(server, folders, notes, step, changed):
    """Waits until the server shows the files as they are on disk, and notes how long that took."""
    began = time.monotonic()
    expected = folders.names()
    texts = sorted(changed & expected)[:MAX_TEXTS]
    while missing := difference(server, folders, expected, texts):
        if time.monotonic() > began + SHOW_TIMEOUT:
            notes.note("lost", step=step["number"], kind=step["kind"], missing=missing)
            return
    notes.note("shown", step=step["number"], kind=step["kind"], seconds=round(time.monotonic() - began, 4))


def difference(server, folders, expected, texts):
    """What the server shows differently from the disk, as a sentence; None when nothing is."""
    listed = {prompt["name"] for prompt in server.tool("list_prompts", {})["prompts"]}
    if listed != expected:
        return f"{len(expected - listed)} files are missing, for example {min(expected - listed, default=None)}, and {len(listed - expected)} are gone, for example {min(listed - expected, default=None)}"
    for name in texts:
        if folders.text(name) not in server.tool("expand_prompt", {"command": name, "input": ""}).get("prompt", ""):
            return f"{name} has an old text"
    return None


class Folders:
    """The two roots, and what is in them. The files of the first are below `a`, those of the second below `b`."""

    def __init__(self, folder):
        self.folder = folder
        self.roots = [folder / "many", folder / "repository"]
        for number in range(prompts_plan.FOLDERS):
            self.fill(f"{number:02}", 0)
        self.spare = folder / "spare"
        shutil.copytree(self.roots[0], self.spare)
        self.git("init", "--quiet", "--initial-branch", "one", str(self.roots[1]), folder=folder)
        for branch, shift in (("one", 0), ("two", prompts_plan.BRANCH_FILES // 2)):
            if branch != "one":
                self.git("checkout", "--quiet", "-b", branch)
                shutil.rmtree(self.roots[1] / "b")
            for number in range(shift, shift + prompts_plan.BRANCH_FILES):
                write(self.roots[1] / f"b/{number % 5}/{number}.md", branch)
            self.git("add", "--all")
            self.git("commit", "--quiet", "--message", branch)

    def git(self, *arguments, folder=None):
        """Runs Git without the configuration of any user."""
        given = ["-c", "user.name=torture", "-c", "user.email=torture@example.org", "-c", "gc.auto=0"]
        surroundings = processes.environment(self.folder) | {"GIT_CONFIG_NOSYSTEM": "1"}
        subprocess.run(["git", *given, *arguments], cwd=folder or self.roots[1], env=surroundings, check=True, stdin=subprocess.DEVNULL)

    def fill(self, name, number):
        """Writes all files of a folder of the first root; returns their names."""
        for file in range(prompts_plan.FILES):
            write(self.roots[0] / f"a/{name}/{file:03}.md", f"text {number}")
        return {f"a/{name}/{file:03}" for file in range(prompts_plan.FILES)}

    def names(self):
        """The names of all prompts on disk: their paths below the root, without `.md`."""
        found = set()
        for root, below in zip(self.roots, ("a", "b")):
            for folder, _, files in os.walk(root / below):
                found |= {os.path.relpath(os.path.join(folder, file), root)[: -len(".md")] for file in files}
        return found

    def text(self, name):
        """The text of a file."""
        return (self.roots[name.startswith("b/")] / f"{name}.md").read_text()

    def change(self, step, server):
        """Does what a step says; returns the names of the prompts that have another text now."""
        dice, number = step["dice"], step["number"]
        many = self.roots[0] / "a"
        there = sorted(os.listdir(many)) or ["new"]
        name = dice.choice(there)
        files = sorted(os.listdir(many / name)) if (many / name).is_dir() else []
        match step["kind"]:
            case "remove" if files:
                os.remove(many / name / dice.choice(files))
            case "rename" if files:
                os.rename(many / name / dice.choice(files), many / name / f"renamed-{number}.md")
                return {f"a/{name}/renamed-{number}"}
            case "rename folder" if files:
                os.rename(many / name, many / f"folder-{number}")
                return {f"a/folder-{number}/{file[:-3]}" for file in files}
            case "remove folder":
                shutil.rmtree(many / name, ignore_errors=True)
            case "remove folders":
                for gone in dice.sample(there, min(30, len(there) - 1)):
                    shutil.rmtree(many / gone)
                    time.sleep(1 / 30)
            case "write folders":
                gone = [f"{folder:02}" for folder in range(prompts_plan.FOLDERS) if f"{folder:02}" not in there]
                return set().union(*(self.fill(folder, number) for folder in [name, *gone]))
            case "replace root":
                return self.replace_root()
            case "checkout":
                write(self.roots[1] / "b/own.md", f"text {number}")
                self.git("checkout", "--quiet", dice.choice(["one", "two"]))
                return {found for found in self.names() if found.startswith("b/")}
            case "overflow":
                changed = self.fill(name, number)
                with server.still():
                    self.overwrite(changed, number)
                return changed
            case _:
                write(many / name / "000.md", f"text {number}")
                return {f"a/{name}/000"}
        return set()

    def overwrite(self, names, number):
        """Writes files of the first root in turns, so often that the kernel's queue of events runs over."""
        files = [os.open(self.roots[0] / f"{name}.md", os.O_WRONLY) for name in sorted(names)]
        for turn in range(OVERFLOW // len(files)):
            for file in files:
                os.pwrite(file, f"text {number}, turn {turn:03}".encode(), 0)
        for file in files:
            os.close(file)

    def replace_root(self):
        """Renames the first root away, and another folder into its place."""
        old = self.folder / "old"
        for source, target in ((self.roots[0], old), (self.spare, self.roots[0]), (old, self.spare)):
            os.rename(source, target)
        return {found for found in self.names() if found.startswith("a/")}


def write(path, text):
    """Writes a file and its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


class Unanswered(Exception):
    """The server did not answer in time."""


class Server:
    """`adjutant mcp prompts` for the two roots, and its client."""

    def __init__(self, adjutant, folder, roots):
        command = [adjutant, "mcp", "prompts", *(word for root in roots for word in ("--prompts-dir", str(root)))]
        self.log = open(folder / "log", "wb")
        self.process = processes.start(command, folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log)
        self.calls = 0

    def tool(self, name, given):
        """Calls a tool; returns its structured result."""
        self.calls += 1
        self.process.stdin.write(json.dumps(messages.tool(self.calls, name, given)).encode() + b"\n")
        self.process.stdin.flush()
        timer = processes.kill_after(self.process, SHOW_TIMEOUT)
        line = self.process.stdout.readline()
        timer.cancel()
        if not line:
            raise Unanswered
        return json.loads(line).get("result", {}).get("structuredContent", {})

    def still(self):
        """A context in which the server stands still."""
        return Stopped(self.process.pid)

    def end(self):
        """Ends the server with its input, and by force if it does not end then."""
        self.process.stdin.close()
        try:
            self.process.wait(SHOW_TIMEOUT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()


class Stopped:
    """A process that stands still while a block runs."""

    def __init__(self, pid):
        self.pid = pid

    def __enter__(self):
        processes.send(self.pid, signal.SIGSTOP)

    def __exit__(self, *_):
        processes.send(self.pid, signal.SIGCONT)
