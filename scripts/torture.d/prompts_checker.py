"""The checker of the subject `prompts`: reads a history and names everything that breaks a promise.

The kinds of events that count:

    shown  step kind seconds  after a step, the server listed exactly the files on disk, and gave the new texts
    lost   step kind missing  it did not within the deadline; `missing` says what was wrong then
    hang   who                a wait was longer than its deadline
"""

from collections import Counter

KINDS = ("lost", "hangs")

# Seconds in which the server promises to show a change. A busy machine may take longer, so it is a figure.
PROMISED = 1.0


def check(events):
    """The broken promises, each as (kind, sentence, the events that show it)."""
    lost = [("lost", f"step {event['step']}, {event['kind']}: {event['missing']}", [event]) for event in events if event["what"] == "lost"]
    return lost + [("hangs", f"{event['who']} waited longer than its deadline", [event]) for event in events if event["what"] == "hang"]


def summary(events, broken):
    """The figures of a run, by name, in the order in which they are printed."""
    shown = [event for event in events if event["what"] == "shown"]
    times = sorted(event["seconds"] for event in shown)
    kinds = Counter(kind for kind, _, _ in broken)
    return {
        "steps": dict(sorted(Counter(event["kind"] for event in shown).items())),
        "milliseconds": {f"p{part}": round(1000 * times[(len(times) - 1) * part // 100]) for part in (50, 99, 100)} if times else {},
        "over a second": sum(seconds > PROMISED for seconds in times),
        **{kind: kinds[kind] for kind in KINDS},
    }
