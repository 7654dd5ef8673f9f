"""The checker: reads a history and names everything that breaks an invariant.

A question is named by `about`: its title and the name of its workspace's folder. A question of the same words in another
folder is another question. The kinds of events that count:

    asked     asker about call       a request was sent; `call` is the id of the JSON-RPC request
    received  asker about call value an answer reached its asker; `event` is the id of its event, `ticket` its question
    response  asker call             any response to a request; `event` as above, `link` the connection
    tried     channel about value    the scripted user gave an answer; `ticket` begins the id of the question
    accepted  channel about value    the interface acknowledged it
    undone    about value            the user undid it, and the interface acknowledged that
    fault     kind asker             something was killed, stopped, cut or filled; without `asker` it was the hub;
                                     with `hides` false no acknowledgement was lost by it
    unread    asker about            the asker itself closed a connection that may have had more
    attack    way held               somebody else tried to answer or to read
    hang      who                    a wait was longer than its deadline
    gave_up   asker about            the asker has no answer at the end
"""

from collections import Counter, defaultdict

# Seconds before a delivery in which a fault may have kept its acknowledgement from the hub.
LOOK_BACK = 3.0

KINDS = ("lost", "doubled", "crossed", "foreign", "outcomes", "attacks", "hangs")


def check(events):
    """The broken invariants, each as (kind, sentence, the events that show it)."""
    broken = []
    by_question, by_value = defaultdict(list), defaultdict(list)
    for event in events:
        if "about" in event:
            by_question[event["world"], event["about"]].append(event)
        if event.get("value") is not None:
            by_value[event["world"], event["value"]].append(event)
    faults = [event for event in events if event["what"] in ("fault", "unread") and event.get("hides", True)]
    broken += lost(by_question)
    broken += doubled(events, by_question, faults)
    broken += crossed(by_value)
    broken += outcomes(events, by_value)
    for event in events:
        if event["what"] == "attack" and not event["held"]:
            broken.append(("attacks", f"the attack `{event['way']}` succeeded", [event]))
        if event["what"] == "hang":
            broken.append(("hangs", f"{event['who']} waited longer than its deadline", [event]))
        if event["what"] == "gave_up":
            about = by_question[event["world"], event["about"]]
            broken.append(("hangs", f"{event['asker']} never got an answer to {event['about']}", about))
    return broken


def lost(by_question):
    """Each acknowledged answer reaches its asker, unless the user undid it or the asker may have closed a connection unread."""
    for (_, about), events in by_question.items():
        received = {event["value"] for event in events if event["what"] == "received"}
        undone = {event["value"] for event in events if event["what"] == "undone"}
        excused = any(event["what"] == "unread" for event in events)
        for event in events:
            wanted = event["what"] == "accepted" and not excused
            if wanted and event["value"] not in received | undone:
                yield "lost", f"the answer {event['value']} to {about} never reached its asker", events


def doubled(events, by_question, faults):
    """A request has one response, and an answer arrives once unless a fault may have hidden that it arrived."""
    responses = defaultdict(list)
    for event in events:
        if event["what"] == "response":
            responses[event["world"], event["asker"], event["call"]].append(event)
    for (_, asker, call), found in responses.items():
        # An event that is sent again after a stream broke has the id that it had before.
        several = len({event.get("event") or number for number, event in enumerate(found)}) > 1
        # Two responses on one pipe are never right; over HTTP a fault may have hidden that the first one arrived.
        if several and not (any(event.get("event") for event in found) and hidden(found, found[0]["world"], faults)):
            yield "doubled", f"{asker} got {len(found)} responses to the request {call}", found
    for (world, about), found in by_question.items():
        given = defaultdict(set)
        for event in found:
            if event["what"] == "tried":
                given[event["value"]].add((event.get("ticket") or "")[:7])
        arrived = defaultdict(list)
        for event in found:
            if event["what"] == "received" and not any(is_same_event(event, other) for other in arrived[event["value"]]):
                arrived[event["value"]].append(event)
        for value, arrivals in arrived.items():
            if len(arrivals) > max(1, len(given[value])) and not hidden(arrivals, world, faults):
                yield "doubled", f"the answer {value} to {about} arrived {len(arrivals)} times", found


def is_same_event(one, other):
    """Whether two arrivals are one event of a stream that was resumed."""
    return one.get("event") is not None and (one["event"], one["call"]) == (other.get("event"), other["call"])


def hidden(arrivals, world, faults):
    """Whether a fault between two arrivals, or just before the first, may have kept the acknowledgement from the hub."""
    first, last = arrivals[0]["t"] - LOOK_BACK, arrivals[-1]["t"]
    asker = arrivals[0]["asker"]
    return any(
        fault["world"] == world and first <= fault["t"] <= last and fault.get("asker") in (None, asker)
        for fault in faults
    )


def crossed(by_value):
    """What reaches an asker is an answer that the scripted user gave to that very question."""
    for (_, value), events in by_value.items():
        tried = {event["about"] for event in events if event["what"] == "tried"}
        for event in events:
            if event["what"] != "received" or event["about"] in tried:
                continue
            if tried:
                yield "crossed", f"{event['asker']} got {value}, the answer to {sorted(tried)}, for {event['about']}", events
            else:
                yield "foreign", f"{event['asker']} got {value}, which the user never gave", events


def outcomes(events, by_value):
    """A question has one outcome: what two interfaces acknowledged about one ticket is the same answer."""
    accepted, tried, undone = defaultdict(dict), {}, {}
    for event in events:
        ticket = event.get("ticket")
        if not ticket:
            continue
        key = event["world"], ticket[:7]
        if event["what"] == "tried":
            tried[key, event["channel"]] = event["t"]
        elif event["what"] == "accepted":
            # An interface that saw the same answer of another one, before that took it back, reports it afterwards.
            if undone.get((key, event["value"]), -1) > tried.get((key, event["channel"]), event["t"]):
                continue
            others = [other for value, other in accepted[key].items() if value != event["value"]]
            if others:
                yield "outcomes", f"the question {ticket} has two outcomes", [*others, event]
            accepted[key][event["value"]] = event
        elif event["what"] == "undone":
            accepted[key].pop(event["value"], None)
            undone[key, event["value"]] = event["t"]
    for event in events:
        if event["what"] != "received":
            continue
        known = accepted.get((event["world"], (event.get("ticket") or "")[:7]))
        if known and event["value"] not in known:
            yield "outcomes", f"{event['asker']} got {event['value']}, and another answer was acknowledged", [*known.values(), event]
        same = by_value[event["world"], event["value"]]
        # The same answer may have been given again in another interface.
        acts = {other.get("channel"): other["what"] for other in same if other["what"] in ("tried", "undone") and other["t"] < event["t"]}
        if set(acts.values()) == {"undone"}:
            yield "outcomes", f"{event['asker']} got {event['value']}, which the user had undone", same


def summary(events, broken):
    """The figures of a run, by name, in the order in which they are printed."""
    count = Counter(event["what"] for event in events)
    faults = Counter(event["kind"] for event in events if event["what"] == "fault")
    channels = Counter(event["channel"] for event in events if event["what"] == "accepted")
    attacks = Counter(event["way"] for event in events if event["what"] == "attack")
    answered = {(event["world"], event["asker"], event["about"]) for event in events if event["what"] == "received"}
    kinds = Counter(kind for kind, _, _ in broken)
    return {
        "questions": len(answered),
        "requests": count["asked"],
        "answers": count["accepted"],
        "undone": count["undone"],
        "by channel": dict(sorted(channels.items())),
        "faults": dict(sorted(faults.items())),
        "cut unread": count["unread"],
        "attacks held": dict(sorted(attacks.items())),
        **{kind: kinds[kind] for kind in KINDS},
    }
