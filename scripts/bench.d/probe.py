"""The figures that mcpload has no mode for. Prints one JSON object; scripts/bench calls it.

probe.py changed   ADJUTANT PROMPTS           how soon a changed file shows in the listing
probe.py refused   ADJUTANT PROMPTS ARGS      peak memory when an oversized expansion is refused
probe.py pipelined ADJUTANT PROMPTS COUNT     peak memory under calls written without waiting
probe.py connect   ADJUTANT PROMPTS PROMPTS   the relay: memory, added time, start of the hub

Standard library only. Every process started here is ended here, the hub by its own pid.
"""

import json
import os
import shutil
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

TIMEOUT = 30.0  # seconds to wait for any single answer


class Missed(Exception):
    """The server did not do what the figure is about."""


def request(id, method, params=None):
    return line({"jsonrpc": "2.0", "id": id, "method": method, "params": params or {}})


def line(message):
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


HELLO = request(0, "initialize", {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "probe", "version": "0"},
})
READY = line({"jsonrpc": "2.0", "method": "notifications/initialized"})


def call(id, tool, **arguments):
    return request(id, "tools/call", {"name": tool, "arguments": arguments})


class Peer:
    """A line-by-line JSON-RPC peer: a process's stdin and stdout, or a socket."""

    def __init__(self, write, read, pid):
        self.write_end, self.read_end, self.pid = write, read, pid

    @classmethod
    def spawn(cls, command, **options):
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, **options
        )
        peer = cls(process.stdin, process.stdout, process.pid)
        peer.process = process
        return peer

    def send(self, *messages):
        self.write_end.write(b"".join(messages))
        self.write_end.flush()

    def answer(self, id):
        """The answer with this id; whatever else arrives meanwhile is skipped."""
        while True:
            raw = self.read_end.readline()
            if not raw:
                raise Missed(f"the server closed its output before it answered {id}")
            message = json.loads(raw)
            if message.get("id") == id and "method" not in message:
                return message

    def greet(self):
        self.send(HELLO)
        self.answer(0)
        self.send(READY)

    def close(self):
        self.write_end.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def memory(pid, key="VmRSS"):
    """Resident memory in MB: now (VmRSS) or at its highest (VmHWM)."""
    for row in Path(f"/proc/{pid}/status").read_text().splitlines():
        if row.startswith(key + ":"):
            return int(row.split()[1]) / 1024
    raise Missed(f"process {pid} has no {key}: it ended")


def milliseconds(since):
    return (time.perf_counter() - since) * 1000


def changed(adjutant, prompts):
    """Edits, adds and removes a file among many, and asks until the listing says so."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "prompts")
        shutil.copytree(prompts, folder)
        server = Peer.spawn([adjutant, "mcp", "prompts", "--prompts-dir", str(folder)])
        server.greet()
        ids = iter(range(1, 1_000_000))

        def listing():
            id = next(ids)
            server.send(call(id, "list_prompts"))
            found = server.answer(id)["result"]["structuredContent"]["prompts"]
            return {prompt["name"]: prompt["description"] for prompt in found}

        def until(shown):
            since = time.perf_counter()
            while not shown(listing()):
                if time.perf_counter() - since > TIMEOUT:
                    raise Missed("a changed file never showed")
            return milliseconds(since)

        took = []
        listing()
        page = "---\ndescription: {}\n---\nBody {{{{input}}}}\n"
        for n in range(5):
            (folder / "research.md").write_text(page.format(f"edited {n}"))
            took.append(until(lambda all: all["research"] == f"edited {n}"))
            (folder / f"fresh-{n}.md").write_text(page.format("fresh"))
            took.append(until(lambda all: f"fresh-{n}" in all))
            (folder / f"fresh-{n}.md").unlink()
            took.append(until(lambda all: f"fresh-{n}" not in all))
        server.close()
    return {"median ms": statistics.median(took), "max ms": max(took), "changes": len(took)}


def refused(adjutant, prompts, arguments):
    """Asks for an expansion of 1 GiB and then for a small one, to see that the server lives."""
    server = Peer.spawn([adjutant, "mcp", "prompts", "--prompts-dir", prompts])
    server.greet()
    before = memory(server.pid)
    since = time.perf_counter()
    server.send(call(1, "expand_prompt", **json.loads(Path(arguments).read_text())))
    answer = server.answer(1)
    took = milliseconds(since)
    peak = memory(server.pid, "VmHWM")
    server.send(call(2, "expand_prompt", command="research", input="topic"))
    lives = "topic" in json.dumps(server.answer(2).get("result", {}))
    server.close()
    error = answer.get("error", {}).get("message") or answer["result"]["content"][0]["text"]
    return {
        "refused": "error" in answer or bool(answer["result"].get("isError")),
        "lives": lives, "ms": took, "idle MB": before, "peak MB": peak, "message": error[:200],
    }


def pipelined(adjutant, prompts, count):
    """Writes every call without waiting, and starts to read once the server takes no more."""
    count = int(count)
    server = Peer.spawn([adjutant, "mcp", "prompts", "--prompts-dir", prompts])
    server.greet()
    calls = b"".join(call(id, "expand_prompt", command="research", input=f"topic {id}") for id in range(1, count + 1))
    written = 0

    def write():
        nonlocal written
        for at in range(0, len(calls), 4096):
            server.write_end.write(calls[at:at + 4096])
            server.write_end.flush()
            written += 4096

    since = time.perf_counter()
    writer = threading.Thread(target=write)
    writer.start()
    stuck_at = -1
    while writer.is_alive() and stuck_at != written:
        stuck_at = written
        writer.join(0.25)
    unread = min(written, len(calls))
    before_reading = memory(server.pid, "VmHWM")
    answers, right, busy = {}, 0, 0
    while len(answers) < count:
        message = json.loads(server.read_end.readline())
        id = message["id"]
        answers[id] = answers.get(id, 0) + 1
        if "result" in message and message["result"]["structuredContent"]["prompt"].endswith(f"topic {id}"):
            right += 1
        elif "error" in message:
            busy += 1
    took = milliseconds(since)
    writer.join()
    peak = memory(server.pid, "VmHWM")
    server.close()
    return {
        "calls": count, "answered": right, "busy": busy, "answered twice": sum(n > 1 for n in answers.values()),
        "taken unread kB": unread / 1024, "peak unread MB": before_reading, "peak MB": peak, "ms": took,
    }


class Home:
    """A separate $ADJUTANT_HOME, and the hub that `connect` starts in it."""

    def __init__(self, adjutant, prompts):
        self.path = Path(tempfile.mkdtemp())
        shutil.copytree(prompts, self.path / "prompts")
        # No console: two hubs of two homes must not meet on the default port.
        (self.path / "config.toml").write_text(HUB_CONFIG)
        self.environment = {**os.environ, "ADJUTANT_HOME": str(self.path)}
        self.adjutant = adjutant

    def spawn(self, *arguments):
        return Peer.spawn([self.adjutant, *arguments], env=self.environment)

    def direct(self):
        """A connection to the hub's socket without the relay."""
        end = socket.socket(socket.AF_UNIX)
        end.settimeout(TIMEOUT)
        end.connect(str(self.path / "hub.sock"))
        pid = struct.unpack("3i", end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
        return Peer(end.makefile("wb"), end.makefile("rb"), pid)

    def stop(self):
        try:
            hub = self.direct().pid
            os.kill(hub, signal.SIGTERM)
            deadline = time.monotonic() + 5
            while Path(f"/proc/{hub}").exists() and time.monotonic() < deadline:
                time.sleep(0.01)
        except OSError:
            pass

    def remove(self):
        self.stop()
        shutil.rmtree(self.path, ignore_errors=True)


HUB_CONFIG = ""


def first_answers(peer, since):
    """Milliseconds from `since` to the answer to initialize, and to tools/list."""
    peer.send(HELLO)
    peer.answer(0)
    hello = milliseconds(since)
    peer.send(READY, request(1, "tools/list"))
    peer.answer(1)
    return hello, milliseconds(since)


def connect(adjutant, prompts, many):
    version = subprocess.run([adjutant, "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]
    opening = line({"adjutant": version, "hello": 1, "toolset": "prompts", "pid": os.getpid()})
    result = {}

    # With a hub running: in turns through the relay, straight to the socket, and `mcp prompts`.
    home = Home(adjutant, prompts)
    try:
        first = home.spawn("connect", "prompts")
        first.greet()
        relayed, straight, alone, idle = [], [], [], []
        for _ in range(41):
            since = time.perf_counter()
            relay = home.spawn("connect", "prompts")
            relayed.append(first_answers(relay, since))
            idle.append(memory(relay.pid))
            relay.close()

            since = time.perf_counter()
            hub = home.direct()
            hub.send(opening)
            hub.read_end.readline()
            straight.append(first_answers(hub, since))
            hub.write_end.close()
            hub.read_end.close()

            since = time.perf_counter()
            single = home.spawn("mcp", "prompts", "--prompts-dir", str(home.path / "prompts"))
            alone.append(first_answers(single, since))
            single.close()
        # The first turn warms the page cache.
        added = [a[0] - b[0] for a, b in zip(relayed[1:], straight[1:])]
        median = lambda pairs, at: statistics.median(pair[at] for pair in pairs[1:])
        hub = home.direct()
        result |= {
            "added ms": statistics.median(added), "added p90 ms": statistics.quantiles(added, n=10)[-1],
            "connect hello ms": median(relayed, 0), "connect list ms": median(relayed, 1),
            "socket hello ms": median(straight, 0), "socket list ms": median(straight, 1),
            "mcp hello ms": median(alone, 0), "mcp list ms": median(alone, 1),
            "connect MB": max(idle), "hub MB": memory(hub.pid),
        }
        # What the relay weighs after a 2 MB answer and many small ones.
        for id in range(2, 502):
            first.send(call(id, "expand_prompt", command="research", input="topic"))
            first.answer(id)
        first.send(call(502, "expand_prompt", command="research", input="x" * 1_000_000))
        first.answer(502)
        result |= {"connect used MB": memory(first.pid), "connect peak MB": memory(first.pid, "VmHWM")}
        first.close()
    finally:
        home.remove()

    # Without a hub: what an agent waits for the first time.
    for name, folder in (("cold", prompts), ("cold 10,000", many)):
        took = []
        home = Home(adjutant, folder)
        try:
            for _ in range(6):
                since = time.perf_counter()
                relay = home.spawn("connect", "prompts")
                took.append(first_answers(relay, since)[1])
                relay.close()
                home.stop()
        finally:
            home.remove()
        result |= {f"{name} ms": statistics.median(took[1:]), f"{name} max ms": max(took)}
    return result


def main():
    modes = {"changed": changed, "refused": refused, "pipelined": pipelined, "connect": connect}
    mode, *arguments = sys.argv[1:]
    try:
        result = modes[mode](*arguments)
    except (Missed, OSError, KeyError, ValueError) as why:
        result = {"failed": f"{type(why).__name__}: {why}"}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
