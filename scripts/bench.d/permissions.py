"""The figures of permission requests. Prints one JSON object; scripts/bench calls it.

permissions.py ADJUTANT

Standard library only. The hub has a separate home and listens on loopback; it is ended here, by its own pid. A hook is
started as a client starts it, so the start of its process is part of each figure.
"""

import json
import statistics
import subprocess
import sys
import time

from probe import Missed, milliseconds
from questions import Hub, User, percentile, until

SHOWN = 60
DECIDED = 300
RULES = 10_000


def event(hub, name, line):
    return json.dumps({"session_id": "s", "hook_event_name": name, "cwd": str(hub.home), "tool_name": "Bash",
                       "tool_input": {"command": line}}).encode()


def hook(hub, text):
    """A hook that has its input."""
    started = subprocess.Popen([hub.process.args[0], "hook", "claude"], env=hub.environment, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    started.stdin.write(text)
    started.stdin.close()
    return started


def shown(hub):
    """From the start of a hook to its question in an open terminal view, in milliseconds."""
    user = User(hub)
    user.send({"questions": "follow"})
    until(user.lines, b"current")
    took = []
    for number in range(SHOWN):
        text = event(hub, "PermissionRequest", f"make target{number}")
        since = time.perf_counter()
        asking = hook(hub, text)
        until(user.lines, f"make target{number}\\n".encode())
        took.append(milliseconds(since))
        asking.kill()
        asking.wait()
    return took


def decided(hub):
    """From the start of a hook to its end with the decision of a rule, in milliseconds."""
    took = []
    text = event(hub, "PreToolUse", "ls -la")
    for _ in range(DECIDED):
        since = time.perf_counter()
        asking = hook(hub, text)
        answer = asking.stdout.read()
        asking.wait()
        took.append(milliseconds(since))
        if b'"allow"' not in answer:
            raise Missed(f"the rule did not decide: {answer!r}")
    return took


def rules(home):
    return "".join(
        f'[[approval_rules]]\nname = "r{number}"\ndecision = "allow"\ncommand = "tool{number} check *"\n'
        for number in range(RULES)
    )


def main():
    figures = {}
    hub = Hub(sys.argv[1])
    try:
        took = shown(hub)
        figures |= {"shown ms": statistics.median(took), "shown max ms": max(took), "shown": SHOWN}
        took = decided(hub)
        figures |= {"decided ms": statistics.median(took), "decided p99 ms": percentile(took, 0.99), "decided": DECIDED}
    finally:
        hub.remove()
    hub = Hub(sys.argv[1], rules)
    try:
        took = decided(hub)
        figures |= {"rules": RULES, "with rules ms": statistics.median(took),
                    "rules add ms": statistics.median(took) - figures["decided ms"]}
    finally:
        hub.remove()
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
