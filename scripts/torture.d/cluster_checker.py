"""The checker of the subject `cluster`: reads a history and names everything that breaks a promise.

A task is named by its `key`, which is in its text, and by the id that its hub gave it. The kinds of events that count:

    accepted  hub key task mode folder   a hub gave the task an id
    cancel    key                        the user asks for the end of the task
    fault     target name kind           something was killed, stopped, or lost its data
    start     key                        the runner was started
    stored    hub task key state …       the row of a task at the end, its outcome, its reference, and what the logs say of it
    base      hub reference              a reference to a working tree that is there at the end
    order     worker path                a result that is in an outbox at the end
    integrity result                     what SQLite says of a database
    hang      who                        a wait was longer than its deadline
"""

from collections import Counter, defaultdict

import cluster_plan

KINDS = ("lost", "twice", "wrong", "silent", "left", "integrity", "hangs")


def check(events):
    """The broken promises, each as (kind, sentence, the events that show it)."""
    broken, about = [], defaultdict(list)
    for event in events:
        if "key" in event:
            about[event["key"]].append(event)
    faults = [event for event in events if event["what"] == "fault"]
    for key, own in about.items():
        broken += [(*found, own) for found in of_task(key, own, faults)]
    for event in events:
        if event["what"] == "base":
            broken.append(("left", f"{event['reference']} of hub {event['hub']} is left", [event]))
        if event["what"] == "order":
            broken.append(("left", f"worker {event['worker']} still has {event['path']}", [event]))
        if event["what"] == "integrity" and event["result"] != "ok":
            broken.append(("integrity", f"a database is broken: {event['result']}", [event]))
        if event["what"] == "hang":
            broken.append(("hangs", f"{event['who']} waited longer than its deadline", [event]))
    return broken


def of_task(key, about, faults):
    """The broken promises of one task, each as (kind, sentence)."""
    found = defaultdict(list)
    for event in about:
        found[event["what"]].append(event)
    rows, starts = found["stored"], len(found["start"])
    for event in found["accepted"]:
        if not any(row["task"] == event["task"] for row in rows):
            yield "lost", f"{key} was accepted as {event['task']}, which is not stored"
    if len(rows) > 1:
        yield "twice", f"{key} was asked for once and stored {len(rows)} times"
    if starts > 1:
        yield "twice", f"{key} was started {starts} times"
    for row in rows:
        state = row["state"]
        if state not in ("succeeded", "failed", "cancelled", "lost") or row["status"] != state:
            yield "lost", f"{key} has no outcome: its state is {state}, its outcome {row['status']}"
            continue
        yield from of_row(key, row, starts, bool(found["cancel"]), faults)


def of_row(key, row, starts, cancelled, faults):
    """What a stored outcome says that cannot be."""
    state, mode = row["state"], row["mode"]
    if row["folder"] == "s":
        if starts or state != "cancelled":
            yield "wrong", f"{key} is {state} after {starts} starts, although its repository cannot travel"
        if not row["refusal_in_log"]:
            yield "silent", f"no log says why {key} stayed on its hub"
        return
    if state == "succeeded":
        if starts != 1 or cluster_plan.MODES[mode] != "succeeded":
            yield "wrong", f"{key} with the mode {mode} succeeded after {starts} starts"
        if not row["worker"]:
            yield "wrong", f"the report of {key} names no worker"
        if (mode == "touch") != row["has_file"]:
            yield "lost", f"the reference of {key} {'has a' if row['has_file'] else 'has no'} file, and its mode is {mode}"
    elif state == "cancelled":
        if not cancelled:
            yield "wrong", f"{key} was cancelled by nobody"
    elif row["reason"] == "refused":
        # No fault of the plan hits what a worker needs to begin.
        yield "wrong", f"{key} was refused, although its repository can travel"
    elif not (mode == "fail" and state == "failed") and not faults:
        yield "wrong", f"{key} with the mode {mode} is {state} without a fault that explains it"
    if state in ("lost", "failed") and not row["reason"]:
        yield "silent", f"{key} is {state} without a reason"


def summary(events, broken):
    """The figures of a run, by name, in the order in which they are printed."""
    rows = [event for event in events if event["what"] == "stored"]
    faults = Counter(f"{event['kind']} {event['target']}" for event in events if event["what"] == "fault")
    kinds = Counter(kind for kind, _, _ in broken)
    return {
        "tasks": len(rows),
        "states": dict(sorted(Counter(row["state"] for row in rows).items())),
        "reasons": dict(sorted(Counter(row["reason"] for row in rows if row["reason"]).items())),
        "workers": dict(sorted(Counter(row["worker"] for row in rows if row["worker"]).items())),
        "replayed": sum(event.get("count", 0) for event in events if event["what"] == "replayed"),
        "faults": dict(sorted(faults.items())),
        **{kind: kinds[kind] for kind in KINDS},
    }
