"""The checker of the subject `tasks`: reads a history and names everything that breaks a promise.

A task is named by its `key`, which is in its text, and by the id that the hub gave it. The kinds of events that count:

    asked     client key agent mode way  a client delegates
    accepted  client key task            the hub gave it an id
    cancel    client key                 the client, or the user, asks for the end of the task
    given     client task status message an outcome reached a client; `left` are processes of the task that were alive then.
                                         A client of the contract gets no id, but a `key`, and the text alone
    fault     target kind task           something was killed, stopped or restarted; `task` names the run that was hit
    over      target kind                a fault of the hub or of the disk is over: a restart takes seconds, and cancels tasks until its end
    start     key task                   the fake runner was started
    stored    task key state status …    the row of a task at the end, and its outcome
    left      process                    a process of a task that is alive at the end
    tree      path locked                a worktree, or a lock, that is there at the end
    integrity result                     what SQLite says of the database
    hang      who                        a wait was longer than its deadline
"""

from collections import Counter, defaultdict

import tasks_plan

KINDS = ("lost", "twice", "outcomes", "wrong", "processes", "trees", "integrity", "hangs")

# Seconds between a fault and the record of its effect.
LOOK_BACK = 10.0

# By the class of a failure that its mode does not explain: the targets of faults that do. A fault of the hub or of the disk is
# everybody's, any other only the run's that it names.
EXCUSES = {
    "hub_gone": ("hub",),
    "lost": ("hub",),
    "supervisor_gone": ("supervisor", "guard"),
    "crashed": ("runner", "supervisor", "guard", "disk"),
    "empty_answer": ("runner",),
    "timed_out": ("hub", "supervisor", "guard", "runner"),
    # A setup command was hit, or a worktree could not be made.
    "refused": ("supervisor", "guard", "runner", "disk"),
}


def check(events):
    """The broken promises, each as (kind, sentence, the events that show it)."""
    broken = []
    by_key, stored, keys = defaultdict(list), {}, {}
    for event in events:
        if event["what"] == "stored":
            stored[event["task"]] = event
        if "key" in event and "task" in event:
            keys[event["task"]] = event["key"]
    for event in events:
        key = event.get("key") or keys.get(event.get("task"))
        if key:
            by_key[key].append(event)
    common_faults = [event for event in events if event["what"] in ("fault", "over") and event.get("target") in ("hub", "disk")]
    for key, about in by_key.items():
        broken += [(*found, about) for found in of_task(key, about, common_faults)]
    for event in events:
        if event["what"] == "given" and event.get("task") and event["task"] not in stored and stored:
            broken.append(("lost", f"{event['client']} was given an outcome of {event['task']}, which is not stored", [event]))
        if event["what"] == "left":
            broken.append(("processes", f"a process is left: {event['process']}", [event]))
        if event["what"] == "integrity" and event["result"] != "ok":
            broken.append(("integrity", f"the database is broken: {event['result']}", [event]))
        if event["what"] == "hang":
            broken.append(("hangs", f"{event['who']} waited longer than its deadline", [event]))
    kept = {event["kept"] for event in events if event["what"] == "stored" and event["kept"]}
    for event in events:
        if event["what"] == "tree" and (event["locked"] or event["path"] not in kept):
            broken.append(("trees", f"{event['path']} is left", [event]))
    return broken


def of_task(key, about, common_faults):
    """The broken promises of one task, each as (kind, sentence)."""
    found = defaultdict(list)
    for event in about:
        found[event["what"]].append(event)
    rows = found["stored"]
    for event in found["accepted"]:
        if not any(row["task"] == event["task"] for row in rows):
            yield "lost", f"{key} was accepted as {event['task']}, which is not stored"
    if len(rows) > 1:
        yield "twice", f"{key} was asked for once and stored {len(rows)} times"
    if len(found["start"]) > 1:
        yield "twice", f"{key} was started {len(found['start'])} times"
    for row in rows:
        if row["state"] not in ("succeeded", "failed", "cancelled", "lost") or not row["has_outcome"] or row["status"] != row["state"]:
            yield "lost", f"{key} has no outcome: its state is {row['state']}, its outcome {row['status']}"
            continue
        yield from of_row(key, row, found, common_faults)
    for event in found["given"]:
        if event.get("left"):
            yield "processes", f"{key} was reported as {event['status']} while processes of it were alive: {event['left']}"
        for row in rows:
            if "task" in event:
                same = (event["status"], event["message"]) == (row["status"], row["message"])
            else:
                # The text of the contract has the message, which may be clipped here, and all that went wrong is an error.
                same = (event["status"] == "succeeded") == (row["status"] == "succeeded") and row["message"][:40] in event["message"]
            if not same:
                yield "outcomes", f"{event['client']} was given {event['status']} for {key}, and {row['status']} is stored"


def of_row(key, row, found, common_faults):
    """What a stored outcome says that cannot be."""
    mode, failure = row["mode"], (row["failure"] or {}).get("class")
    starts, asked = found["start"], found["asked"][0]["t"] if found["asked"] else 0.0
    ended = row["status"]
    if ended == "succeeded":
        # After a fault that stops the runner, it is continued also where it had stopped itself.
        continued = mode == "stopped" and any((fault["target"], fault["kind"]) == ("runner", "stop") for fault in found["fault"])
        if not continued and tasks_plan.MODES[mode] != "succeeded" or len(starts) != 1:
            yield "wrong", f"{key} with the mode {mode} succeeded after {len(starts)} starts"
        # On a full disk the runner itself writes nothing; of its output a part is lost, as the report says then.
        was_full = any(fault["target"] == "disk" and fault["t"] >= asked - LOOK_BACK for fault in common_faults)
        if not row["end"].endswith(f"result {key}") and not (was_full and row.get("output_missing")):
            yield "wrong", f"{key} succeeded with the message of something else, and the report gives no reason"
        if mode in ("touch", "loot") and row["agent"] in tasks_plan.TREES and not (row["has_patch"] or row["kept"] or was_full):
            yield "lost", f"what {key} wrote in its worktree is in no patch and in no tree: {row['files_unknown']}"
    elif ended == "cancelled":
        restarts = [fault for fault in common_faults if "--cancel" in fault["kind"] and fault["t"] >= asked]
        if not found["cancel"] and not restarts:
            yield "wrong", f"{key} was cancelled by nobody"
    elif not (mode in ("fail", "crash") and failure == "crashed" or tasks_plan.MODES[mode] is None and failure == "timed_out"):
        own = {fault["target"] for fault in found["fault"]}
        common = {fault["target"] for fault in common_faults if fault["t"] >= asked - LOOK_BACK}
        if not (own | common) & set(EXCUSES.get(failure, ())):
            yield "wrong", f"{key} with the mode {mode} failed without a fault that explains it: {row['failure']}"
    if row["processes_left"] and not row["is_uncounted"]:
        yield "processes", f"the report of {key} says that {row['processes_left']} processes are left"


def summary(events, broken):
    """The figures of a run, by name, in the order in which they are printed."""
    def count(what, member):
        return dict(sorted(Counter(event[member] for event in events if event["what"] == what).items()))
    faults = Counter(f"{event['kind']} {event['target']}" for event in events if event["what"] == "fault")
    rows = [event for event in events if event["what"] == "stored"]
    kinds = Counter(kind for kind, _, _ in broken)
    return {
        "tasks": len(rows),
        "outcomes given": sum(event["what"] == "given" for event in events),
        "states": count("stored", "state"),
        "failures": dict(sorted(Counter(row["failure"]["class"] for row in rows if row["failure"]).items())),
        "modes": count("stored", "mode"),
        "agents": count("stored", "agent"),
        "held by": dict(sorted(Counter(held or "nothing" for row in rows for held in row["held_by"]).items())),
        "ways": count("asked", "way"),
        "faults": dict(sorted(faults.items())),
        "trees kept": sum(bool(row["kept"]) for row in rows),
        "uncounted": sum(row["is_uncounted"] for row in rows),
        **{kind: kinds[kind] for kind in KINDS},
    }
