"""The figures of Codex sessions. Prints one JSON object; scripts/bench calls it.

codex.py ADJUTANT

A script in the place of Codex prints the requested lines. Standard library only; the hub has a separate home, listens on
loopback, and is ended here, by its own pid. The export of a recording needs 2.1 GB in the folder for temporary files.
"""

import json
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

from questions import Hub, print_figures
from probe import Missed, memory

ITEMS = 100_000
TICKS = 100
FOLLOWED_TICKS = 1_000
FOLLOWERS = 10
EXPORTED = (100_000_000, 1_000_000_000)
PAGES = 20

FAKE = r'''#!/usr/bin/env python3
import json, sys, time
if sys.argv[1:] == ["--version"]:
    print("codex-cli 0.169.0")
    sys.exit()
THREAD, TURN = "01a1fb15-a37b-75c1-bd0c-33d573a944b7", "01a1fb15-a398-7463-9d05-4b0f1a6b8d3e"
def send(message):
    sys.stdout.write(json.dumps(message, separators=(",", ":")) + "\n")
def notify(method, **params):
    send({"method": method, "params": {"threadId": THREAD, "turnId": TURN, **params}})
def item(number):
    if number % 10:
        return {"type": "agentMessage", "id": f"m{number}", "text": f"The {number}. thing that I have to say. " * 4}
    return {"type": "commandExecution", "id": f"c{number}", "command": "cargo test", "cwd": "/work",
            "status": "completed", "aggregatedOutput": "test result: ok.\n" * 100, "exitCode": 0}
for line in sys.stdin:
    asked = json.loads(line)
    method = asked.get("method")
    if method == "initialize":
        send({"id": asked["id"], "result": {"userAgent": "fake/0.169.0 (x)"}})
    elif method == "thread/start":
        send({"id": asked["id"], "result": {"thread": {"id": THREAD, "cwd": "/"}, "model": "m"}})
    elif method == "turn/start":
        what, count = asked["params"]["input"][0]["text"].split()
        send({"id": asked["id"], "result": {"turn": {"id": TURN}}})
        notify("turn/started", turn={"id": TURN})
        for number in range(int(count)):
            if what == "ticks":
                sys.stdout.flush()
                time.sleep(0.02)
                notify("tick", ns=time.monotonic_ns())
            else:
                notify("item/completed", item=item(number))
        notify("rests")
        if what == "ticks":
            notify("turn/completed", turn={"id": TURN, "status": "completed"})
    sys.stdout.flush()
'''


def begin(hub, prompt):
    """`adjutant codex`, with the lines that it prints."""
    return subprocess.Popen(
        [hub.process.args[0], "codex", prompt], env=hub.environment, cwd=hub.home, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )


def configure(home):
    fake = home / "codex"
    fake.write_text(FAKE)
    fake.chmod(0o755)
    return f"[codex]\nprogram = {json.dumps(str(fake))}\n"


def first_line(hub):
    """From the moment in which a notification is written to that in which its line can be read."""
    took = []
    with begin(hub, f"ticks {TICKS}") as console:
        for line in console.stdout:
            if found := re.match(r'\[mcp tick\] .*"ns":(\d+)', line):
                took.append((time.monotonic_ns() - int(found[1])) / 1e6)
    if len(took) != TICKS:
        raise Missed(f"{len(took)} of {TICKS} lines came")
    took.sort()
    return {"line ms": statistics.median(took), "line p90 ms": took[TICKS * 9 // 10], "line max ms": took[-1], "lines": TICKS}


def followed_line(hub):
    """The same with ten readers of all events of the thread."""
    took, followers, received = [], [], []
    command = [hub.process.args[0], "codex", "follow", "01a1fb15", "--json"]
    with begin(hub, f"ticks {TICKS + FOLLOWED_TICKS}") as console:
        for number, line in enumerate(console.stdout):
            found = re.match(r'\[mcp tick\] .*"ns":(\d+)', line)
            if found and not followers:
                # They read into files, so that reading costs this process nothing.
                for at in range(FOLLOWERS):
                    with open(hub.home / f"follower-{at}", "wb") as out:
                        followers.append(subprocess.Popen(command, env=hub.environment, cwd=hub.home, stdout=out,
                                                          stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
            elif found and number > TICKS:
                took.append((time.monotonic_ns() - int(found[1])) / 1e6)
    for at, follower in enumerate(followers):
        follower.kill()
        follower.wait()
        received.append((hub.home / f"follower-{at}").read_bytes().count(b'"method":"tick"'))
    if len(took) < FOLLOWED_TICKS - 10 or min(received) < FOLLOWED_TICKS - 10:
        raise Missed(f"{len(took)} lines came, and {received} to the followers")
    took.sort()
    return {"followers": FOLLOWERS, "followed lines": len(took), "followed line ms": statistics.median(took),
            "followed line p99 ms": took[len(took) * 99 // 100], "followed line max ms": took[-1]}


def recording(path, size):
    """Writes a recording of about this size: messages of a session with ordinary source code, and some secrets."""
    root = Path(__file__).parent.parent.parent
    source = "".join(file.read_text() for file in sorted(root.glob("crates/*/src/*.rs"))).splitlines(keepends=True)
    lines = []
    for at in range(0, len(source) - 40, 40):
        item = {"type": "commandExecution", "id": f"c{at}", "command": f"sed -n {at}p lib.rs", "status": "completed",
                "aggregatedOutput": "".join(source[at:at + 40]), "exitCode": 0}
        lines.append({"method": "item/completed", "params": {"threadId": "t", "item": item}})
        lines += [{"method": "item/agentMessage/delta", "params": {"itemId": f"m{at}", "delta": part}}
                  for part in source[at:at + 20]]
        if at % 400 == 0:
            lines.append({"output": f"export OPENAI_API_KEY=a{at}b"})
    lines = [json.dumps(line, separators=(",", ":")) for line in lines]
    entries = [f'"dir":"s2c","line":{json.dumps(line)}}}\n' for line in lines]
    with open(path, "w") as out:
        out.write('{"recording":1,"adjutant":"0.1.0","connection":"codex","session":"codex-bench","about":"codex",'
                  '"started":"2026-11-21T06:32:51Z","pid":1,"command":["codex"]}\n')
        number = 0
        while out.tell() < size:
            out.writelines(f'{{"seq":{number + at},"at":1795243971000,"us":{number + at},{entry}'
                           for at, entry in enumerate(entries, 1))
            number += len(entries)


def export(hub):
    """The time of the export of a recording of a gigabyte, and its memory with a tenth of that and with all."""
    figures = {}
    for name, size in zip(("export small", "export"), EXPORTED):
        source, target = hub.home / "recorded.jsonl", hub.home / "exported.jsonl"
        recording(source, size)
        since = time.perf_counter()
        process = subprocess.Popen([hub.process.args[0], "log", "export", str(source), "--output", str(target)],
                                   env=hub.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        figures[f"{name} s"] = time.perf_counter() - since
        figures[f"{name} MB"] = usage.ru_maxrss / 1024
        figures[f"{name} bytes"] = source.stat().st_size
        if status or target.stat().st_size < size * 0.9:
            raise Missed(f"the export ended with {status} and {target.stat().st_size} bytes")
        source.unlink()
        target.unlink()
    return figures


def large_thread(hub):
    """The hub's memory with a turn of very many items, and the pages of its thread meanwhile and then."""
    idle = memory(hub.process.pid)
    since = time.perf_counter()
    meanwhile = []
    with begin(hub, f"items {ITEMS}") as console:
        looked = time.perf_counter()
        for line in console.stdout:
            if line.startswith("[mcp rests]"):
                break
            if time.perf_counter() - looked > 0.5:
                meanwhile.append(hub.get("/codex/01a1fb15-a37b-75c1-bd0c-33d573a944b7")[1])
                looked = time.perf_counter()
        took = time.perf_counter() - since
        thread = "/codex/01a1fb15-a37b-75c1-bd0c-33d573a944b7"
        page, _ = hub.get(thread)
        if f"The {ITEMS - 1}. thing" not in page:
            raise Missed("the page does not show the last item")
        older = re.search(r"\?before=(\d+)", page)
        if not older:
            raise Missed("the page has no way to what is older")
        last = [hub.get(thread)[1] for _ in range(PAGES)]
        middle = [hub.get(f"{thread}?before={int(older[1]) - ITEMS // 2}")[1] for _ in range(PAGES)]
        figures = {
            "items": ITEMS, "idle MB": idle, "thread MB": memory(hub.process.pid), "peak MB": memory(hub.process.pid, "VmHWM"),
            "items s": took, "page ms": statistics.median(last), "page max ms": max(last),
            "middle page ms": statistics.median(middle), "middle page max ms": max(middle),
            "page under load ms": statistics.median(meanwhile or [0]), "page under load max ms": max(meanwhile or [0]),
        }
        console.kill()
    return figures


def main():
    print_figures((first_line, followed_line, large_thread, export), lambda: Hub(sys.argv[1], configure))


if __name__ == "__main__":
    main()
