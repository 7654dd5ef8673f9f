"""The checker of the subject `mails`: reads a history and names everything that breaks a promise.

A mail is named by its Message-ID, which is made of the notification's id. `at` is the time of day in seconds. The kinds of
events that count:

    imported  titles                     an import has ended well
    mode      mode at                    the mail server behaves so from now on
    taken     mail subject at            the mail server took a mail
    refused   mail subject at            the mail server wants the mail later
    cut       mail subject at            the mail server ended the connection after the text, without an answer
    fault     kind at                    the hub was killed, ended or stopped
    again     mail                       the user sent a mail with an unknown outcome again
    stored    mail title status attempts the row of a notification at the end, and its attempts
    integrity result                     what SQLite says of the database
    hang      who                        a wait was longer than its deadline
"""

from collections import Counter, defaultdict

KINDS = ("lost", "repeated", "renamed", "wrong", "integrity", "hangs")

# Mails that a hub sends at the same time.
MAX_IN_FLIGHT = 16

# Seconds between an event and the record of its effect.
TOLERANCE = 1.0


def check(events):
    """The broken promises, each as (kind, sentence, the events that show it)."""
    broken = []
    of = defaultdict(list)
    for event in events:
        of[event["what"]].append(event)
    rows, about = defaultdict(list), defaultdict(list)
    for row in of["stored"]:
        rows[row["title"]].append(row)
    for event in events:
        if "mail" in event:
            about[event["mail"]].append(event)
    for title in [title for event in of["imported"] for title in event["titles"]]:
        if len(rows[title]) != 1:
            broken.append(("lost", f"{title} was imported and has {len(rows[title])} notifications", rows[title]))
    for row in of["stored"]:
        broken += [(*found, about[row["mail"]]) for found in of_mail(row, about[row["mail"]], of)]
    stored = {row["mail"]: row for row in of["stored"]}
    for event in of["taken"] + of["refused"] + of["cut"]:
        row = stored.get(event["mail"])
        if not row or row["title"] not in event["subject"]:
            broken.append(("renamed", f"{event['mail']} is not the name of the mail {event['subject']!r}", [event]))
    for fault in of["fault"]:
        hit = [row for row in of["stored"] if any(is_cut_by(attempt, fault, cuts_of(about[row["mail"]], of)) for attempt in row["attempts"])]
        if len(hit) > MAX_IN_FLIGHT:
            broken.append(("repeated", f"a {fault['kind']} of the hub left {len(hit)} mails with an unknown outcome", [fault, *hit]))
    broken += [("integrity", f"the database is broken: {event['result']}", [event]) for event in of["integrity"] if event["result"] != "ok"]
    broken += [("hangs", f"{event['who']} waited longer than its deadline", [event]) for event in of["hang"]]
    return broken


def of_mail(row, about, of):
    """The broken promises of one mail, each as (kind, sentence)."""
    title, attempts = row["title"], row["attempts"]
    takes = sum(event["what"] == "taken" for event in about)
    if row["status"] != "sent" or not takes:
        yield "lost", f"{title} is {row['status']} at the end, and arrived {takes} times"
    unknown = [attempt for attempt in attempts if is_cut(attempt)]
    if takes - 1 > len(unknown):
        yield "repeated", f"{title} arrived {takes} times after {len(unknown)} attempts with an unknown outcome"
    own = cuts_of(about, of)
    for attempt in attempts:
        outcome = attempt["outcome"]
        if outcome == "unknown":
            explained = any(covers(attempt, event) for event in of["fault"] + own)
        elif outcome == "failed":
            explained = any(covers(attempt, event) for event in of["fault"]) or any(overlaps(attempt, *phase) for phase in phases(of["mode"]))
        else:
            explained = outcome == "sent"
        if not explained:
            yield "wrong", f"an attempt at {title} is {outcome} without a fault that explains it"


def is_cut(attempt):
    """Whether nobody knows what became of an attempt."""
    return attempt["outcome"] in (None, "unknown")


def cuts_of(about, of):
    """The moments at which the mail server ended the connection of a mail: its own, and when the server goes away."""
    return [event for event in about if event["what"] == "cut"] + [event for event in of["mode"] if event["mode"] == "refused"]


def is_cut_by(attempt, fault, cuts):
    """Whether a fault of the hub, and not the mail server, left an attempt without an outcome."""
    return is_cut(attempt) and covers(attempt, fault) and not any(covers(attempt, event) for event in cuts)


def covers(attempt, event):
    """Whether an event fell into an attempt."""
    return overlaps(attempt, event["at"], event["at"])


def overlaps(attempt, since, until):
    """Whether an attempt was under way between two times."""
    ended = attempt["ended"] if attempt["ended"] is not None else float("inf")
    return attempt["started"] - TOLERANCE <= until and since <= ended + TOLERANCE


def phases(modes):
    """The times between which the mail server did not simply take mails."""
    ends = [event["at"] for event in modes[1:]] + [float("inf")]
    return [(event["at"], end) for event, end in zip(modes, ends) if event["mode"] != "ok"]


def summary(events, broken):
    """The figures of a run, by name, in the order in which they are printed."""
    def count(what, member):
        return dict(sorted(Counter(event[member] for event in events if event["what"] == what).items()))
    attempts = [attempt for event in events if event["what"] == "stored" for attempt in event["attempts"]]
    taken = Counter(event["mail"] for event in events if event["what"] == "taken")
    kinds = Counter(kind for kind, _, _ in broken)
    return {
        "mails": sum(event["what"] == "stored" for event in events),
        "arrived": taken.total(),
        "arrived again": taken.total() - len(taken),
        "sent again by the user": sum(event["what"] == "again" for event in events),
        "attempts": dict(sorted(Counter(str(attempt["outcome"]) for attempt in attempts).items())),
        "server": count("mode", "mode"),
        "faults": count("fault", "kind"),
        **{kind: kinds[kind] for kind in KINDS},
    }
