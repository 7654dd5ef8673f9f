"""The figures of the server of all toolsets. Prints one JSON object; scripts/bench calls it.

combined.py ADJUTANT

Standard library only. Every hub has a separate home and is ended here, by its own pid.
"""

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

from questions import Hub
from probe import Home, Missed, first_answers, memory, milliseconds, request

CLIENTS = 200
ROUNDS = 41
COLD = 6
LISTS = 500


def share(pid):
    """What a process costs in MB: its own pages, and its part of those that it shares."""
    for row in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if row.startswith("Pss:"):
            return int(row.split()[1]) / 1024
    raise Missed(f"process {pid} has no share: it ended")


def prompts():
    folder = Path(tempfile.mkdtemp())
    for name in ("research", "summarize", "critique", "explain"):
        (folder / f"{name}.md").write_text(f"---\ndescription: {name} something.\n---\n{name}: {{{{input}}}}\n")
    return folder


def warm(home):
    """What a client waits for that starts a relay while the hub runs."""
    took = []
    for _ in range(ROUNDS):
        since = time.perf_counter()
        relay = home.spawn("connect")
        took.append(first_answers(relay, since))
        relay.close()
    # The first turns warm the page cache.
    hello, list = ([pair[at] for pair in took[3:]] for at in (0, 1))
    return {"hello ms": statistics.median(hello), "hello p90 ms": statistics.quantiles(hello, n=10)[-1],
            "both ms": statistics.median(list)}


def lists(home):
    """`tools/list` alone: how long, and how much."""
    relay = home.spawn("connect")
    relay.greet()
    took = []
    for id in range(1, LISTS):
        since = time.perf_counter()
        relay.send(request(id, "tools/list"))
        raw = relay.read_end.readline()
        took.append(milliseconds(since))
        if json.loads(raw).get("id") != id:
            raise Missed(raw[:200].decode())
    relay.close()
    return {"list ms": statistics.median(took), "list p99 ms": statistics.quantiles(took, n=100)[-1], "list bytes": len(raw)}


def many(home):
    """Clients that stay: what the hub and each relay weigh."""
    first = home.spawn("connect")
    first.greet()
    hub = home.direct().pid
    alone = memory(hub)
    relays = [home.spawn("connect") for _ in range(CLIENTS - 1)]
    for relay in relays:
        relay.greet()
        relay.send(request(1, "tools/list"))
        relay.answer(1)
    relays.append(first)
    weights = [memory(relay.pid) for relay in relays]
    shares = [share(relay.pid) for relay in relays]
    result = {"clients": CLIENTS, "alone MB": alone, "hub MB": memory(hub), "hub peak MB": memory(hub, "VmHWM"),
              "relay MB": statistics.median(weights), "relay max MB": max(weights), "relay share MB": max(shares)}
    for relay in relays:
        relay.close()
    return result


def cold(adjutant, folder):
    took = []
    for _ in range(COLD):
        home = Home(adjutant, folder)
        try:
            since = time.perf_counter()
            relay = home.spawn("connect")
            took.append(first_answers(relay, since)[0])
            relay.close()
        finally:
            home.remove()
    return {"cold ms": statistics.median(took[1:]), "cold max ms": max(took[1:])}


def pages(adjutant):
    hub = Hub(adjutant)
    try:
        hub.get("/")
        overview = [hub.get("/")[1] for _ in range(30)]
        return {"overview ms": statistics.median(overview), "overview max ms": max(overview)}
    finally:
        hub.remove()


def main():
    adjutant = sys.argv[1]
    folder = prompts()
    home = Home(adjutant, folder)
    try:
        result = warm(home) | lists(home) | many(home)
    finally:
        home.remove()
    print(json.dumps(result | cold(adjutant, folder) | pages(adjutant)))


if __name__ == "__main__":
    try:
        main()
    except (Missed, OSError) as fault:
        print(json.dumps({"failed": str(fault)}))
