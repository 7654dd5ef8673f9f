"""Judges what scripts/bench measured: one Markdown row per figure, then every section's table.

verdict.py FOLDER

A rate is compared round by round with the servers that took turns in the same minutes; the ratio
shown is the median of the rounds' ratios. Exits 1 when a figure is missed.
"""

import json
import statistics
import sys
from pathlib import Path

folder = Path(sys.argv[1])
rows, failed = [], []


def section(name):
    """What mcpload figures about each server, by name; empty when the section was not run or failed."""
    path = folder / f"{name}.json"
    if not path.exists():
        return {}
    objects = [json.loads(row) for row in path.read_text().splitlines() if row.startswith("{")]
    servers = {row["target"]: row for row in objects if row.get("all")}
    if "adjutant" not in servers:
        rows.append(f"| {name} | an answer | no figures: see `{path}` | **no** |")
        failed.append(name)
        return {}
    return servers


def probe(name):
    """What a probe figures; None when it was not run or failed."""
    path = folder / f"{name}.json"
    if not path.exists():
        return None
    figures = json.loads(path.read_text() or '{"failed": "no output"}')
    if "failed" in figures:
        rows.append(f"| {name} | an answer | {figures['failed']} | **no** |")
        failed.append(name)
        return None
    return figures


def ratio(servers, other):
    """Ours to the other's, per round; the lead figure is calls/s, or ms for starts."""
    ours, theirs = servers["adjutant"]["all"], servers[other]["all"]
    if len(ours) != len(theirs):
        return statistics.median(ours) / statistics.median(theirs)
    return statistics.median(a / b for a, b in zip(ours, theirs))


def row(what, demanded, measured, holds):
    rows.append(f"| {what} | {demanded} | {measured} | {'yes' if holds else '**no**'} |")
    return holds


def faults(servers):
    return int(servers["adjutant"].get("errors") or 0)


def judge():
    start, one, many = section("start"), section("calls-1"), section("calls-32")
    if start:
        r = ratio(start, "limit")
        others = ", ".join(f"{n} {ratio_to_limit(start, n):.2f}" for n in ("byhand", "go-plain", "rmcp") if n in start)
        yield row("start to the `tools/list` answer", "≤ 1.4 × limit", f"{r:.2f} × limit ({others})", r <= 1.4)
    if one and many:
        mb = max(s["adjutant"][k] for s in (one, many) for k in ("idle MB", "end MB"))
        idle = one["adjutant"]["idle MB"]
        yield row("resident, idle and after both loops", "< 8 MB", f"{idle:.1f} MB idle, {mb:.1f} MB at most", mb < 8)
    if one:
        go, sdk = ratio(one, "go-plain"), ratio(one, "rmcp")
        yield row("`expand_prompt`, 1 in flight", "≥ 1 × go-plain, ≥ 3 × rmcp",
                  f"{go:.2f} × go-plain, {sdk:.2f} × rmcp{errors(one)}", go >= 1 and sdk >= 3 and not faults(one))
    if many:
        go, sdk = ratio(many, "go-plain"), ratio(many, "rmcp")
        yield row("`expand_prompt`, 32 in flight", "≥ 2 × go-plain",
                  f"{go:.2f} × go-plain, {sdk:.2f} × rmcp{errors(many)}", go >= 2 and not faults(many))
    listing = section("list")
    if listing:
        r = ratio(listing, "limit")
        peers = ", ".join(f"{n} {ratio_to_limit(listing, n):.3f}" for n in ("go-plain", "rmcp"))
        yield row("`list_prompts`, 10,000 files", "> 0.4 × the canned answer",
                  f"{r:.2f} ({peers}){errors(listing)}", r > 0.4 and not faults(listing))
    if figures := probe("changed"):
        yield row("a changed file shows among 10,000", "≤ 500 ms",
                  f"{figures['median ms']:.0f} ms, at most {figures['max ms']:.0f} of {figures['changes']}", figures["max ms"] <= 500)
    for name, what in (("large-input", "1 MiB into one place"), ("many-places", "1 KiB into 1,000 places")):
        servers = section(name)
        if servers:
            peers = [n for n in servers if n not in ("limit", "byhand", "adjutant")]
            best = max(peers, key=lambda n: servers[n]["req/s"])
            r = ratio(servers, best)
            yield row(what, "≥ the best peer",
                      f"{r:.2f} × {best}, {ratio(servers, 'limit'):.2f} × limit{errors(servers)}",
                      r >= 1 and not faults(servers))
    if figures := probe("refused"):
        yield row("1 MiB into 1,000 places", "refused before memory is spent",
                  f"{'refused' if figures['refused'] else 'served'} in {figures['ms']:.1f} ms, peak {figures['peak MB']:.1f} MB",
                  figures["refused"] and figures["lives"] and figures["peak MB"] < 20)
    if figures := probe("pipelined"):
        whole = figures["answered"] + figures["busy"] == figures["calls"] and not figures["answered twice"]
        yield row("50,000 pipelined calls", "< 20 MB, one answer each",
                  f"peak {figures['peak MB']:.1f} MB, {figures['answered']} answered, {figures['busy']} refused as busy",
                  whole and figures["peak MB"] < 20)
    if figures := probe("connect"):
        yield row("`connect`, resident", "< 4 MB",
                  f"{figures['connect MB']:.1f} MB, {figures['connect used MB']:.1f} MB after 2 MB answers",
                  figures["connect MB"] < 4)
        yield row("`connect`, added to the first answer with a hub running", "< 5 ms",
                  f"{figures['added ms']:.2f} ms, 90 % under {figures['added p90 ms']:.2f}", figures["added ms"] < 5)
        cold = max(figures["cold max ms"], figures["cold 10,000 max ms"])
        yield row("`connect` starts the hub, first answers", "≤ 500 ms",
                  f"{figures['cold ms']:.0f} ms; {figures['cold 10,000 ms']:.0f} ms with 10,000 prompts; at most {cold:.0f}",
                  cold <= 500)
    for c in (1, 32, 256):
        for kind, what in (("sessions", "sessions"), ("stateless", "2026-07-28")):
            servers = section(f"http-{kind}-{c}")
            if servers:
                sdk, bare = ratio(servers, "rmcp-nodelay"), ratio(servers, "limit")
                demanded = "≥ rmcp with TCP_NODELAY, no error" if c > 1 else "no 40 ms stall, no error"
                holds = sdk >= 1 if c > 1 else servers["adjutant"]["p50 us"] < 5000
                yield row(f"HTTP, {what}, {c} connection{'s' * (c > 1)}", demanded,
                          f"{sdk:.2f} × rmcp-nodelay, {bare:.2f} × limit, {faults(servers)} errors",
                          holds and not faults(servers))
    start = section("http-start")
    if start:
        stall = {n: start[n]["list ms"] - start[n]["hello ms"] for n in start}
        yield row("HTTP, greeting to the first `tools/list` answer", "no 40 ms stall",
                  f"{stall['adjutant']:.1f} ms (rmcp-nodelay {stall['rmcp-nodelay']:.1f}, rmcp {stall['rmcp']:.1f})",
                  stall["adjutant"] < 20)


    if figures := probe("overhead"):
        for kind, where, limit in (("", "", 8), ("bubblewrap ", ", in bubblewrap", 25)):
            # The sandbox is measured where it is installed.
            if middle := figures.get(f"{kind}overhead ms"):
                yield row(f"a delegation, over the runner's own time{where}", f"< {limit} ms",
                          f"{middle:.1f} ms, 90 % under {figures[kind + 'overhead p90 ms']:.1f}", middle < limit)
    if figures := probe("delegation"):
        yield row(f"hub, {figures['at once']} tasks under way and one floods {figures['flood MB']} MB", "< 64 MB",
                  f"{figures['idle MB']:.1f} MB idle, {figures['crowded MB']:.1f} with the tasks, peak {figures['peak MB']:.1f}",
                  figures["peak MB"] < 64)
        for runner in ("codex", "copilot"):
            yield row(f"cancel to no process left, real {runner}", "< 2 s, none left",
                      f"{figures[runner + ' cancel ms']:.0f} ms, at most {figures[runner + ' cancel max ms']:.0f} of "
                      f"{figures['rounds']}, {figures[runner + ' left']} left",
                      figures[f"{runner} cancel max ms"] < 2000 and not figures[f"{runner} left"])
    if figures := probe("queue"):
        yield row("queued tasks, claimed and finished on SQLite, each on disk", "> 2,000/s",
                  f"{figures['finished']:,}/s, entered {figures['entered']:,}/s", figures["finished"] > 2000)
    if figures := probe("claims"):
        yield row("tasks claimed and finished by 8 hubs on one PostgreSQL, to those of 1 hub; no race lost", "≥ 1.5 ×",
                  f"{figures['eight'] / figures['one']:.1f} ×, {figures['one']:,}/s, 3 hubs {figures['three']:,}/s, "
                  f"8 hubs {figures['eight']:,}/s, {figures['lost']} lost",
                  figures["eight"] >= 1.5 * figures["one"] and not figures["lost"])
        yield row("claim of one task among 100,000 queued", "< 5 ms", f"{figures['claim ms']:.1f} ms",
                  figures["claim ms"] < 5)
    if figures := probe("questions"):
        for crowd, where in (("", ""), ("crowded ", f", with {figures['streams']:,} event streams open")):
            yield row(f"a question, from its request to an open terminal view{where}", "p50 < 5 ms, p99 < 50 ms",
                      f"{figures[crowd + 'shown ms']:.1f} ms, p99 {figures[crowd + 'shown p99 ms']:.1f} of {figures['shown']}",
                      figures[crowd + "shown ms"] < 5 and figures[crowd + "shown p99 ms"] < 50)
            yield row(f"a question, from its request to an open page of the console{where}", "p99 < 150 ms",
                      f"{figures[crowd + 'visible ms']:.1f} ms, p99 {figures[crowd + 'visible p99 ms']:.1f} of {figures['rounds']}",
                      figures[crowd + "visible p99 ms"] < 150)
        yield row("an answer, to the response on the wire", "< 10 ms",
                  f"{figures['answered ms']:.1f} ms, at most {figures['answered max ms']:.1f} of {figures['rounds']}",
                  figures["answered ms"] < 10)
        yield row(f"{figures['pending']:,} questions entered, the last quarter of them to the first", "≤ 1.5 × the time",
                  f"{figures['last to first']:.2f} ×, {figures['first quarter ms']:.0f} and {figures['last quarter ms']:.0f} ms",
                  figures["last to first"] <= 1.5)
        yield row(f"hub, {figures['pending']:,} questions pending", "< 60 MB",
                  f"{figures['idle MB']:.1f} MB idle, {figures['pending MB']:.1f} with the questions, peak {figures['peak MB']:.1f}",
                  figures["peak MB"] < 60)
        yield row("a page of the console then", "< 200 ms",
                  f"the list {figures['page ms']:.1f} ms, at most {figures['page max ms']:.1f}; a question {figures['question ms']:.1f}; "
                  f"the overview {figures['overview ms']:.1f}", figures["page max ms"] < 200)
        yield row(f"hub, {figures['streams']:,} event streams open", "< 100 MB",
                  f"{figures['without MB']:.1f} MB without, {figures['streams MB']:.1f} with, peak {figures['streams peak MB']:.1f}; "
                  f"all notified of a question in {figures['all notified ms']:.0f} ms", figures["streams peak MB"] < 100)
    if figures := probe("permissions"):
        yield row("a permission request, from the start of its hook to an open terminal view", "< 60 ms",
                  f"{figures['shown ms']:.1f} ms, at most {figures['shown max ms']:.1f} of {figures['shown']}",
                  figures["shown ms"] < 60)
        yield row("a rule's decision, from the start of its hook to the end", "p99 < 15 ms",
                  f"{figures['decided ms']:.1f} ms, p99 {figures['decided p99 ms']:.1f} of {figures['decided']}",
                  figures["decided p99 ms"] < 15)
        yield row(f"{figures['rules']:,} rules, added to a decision", "< 2 ms", f"{figures['rules add ms']:.2f} ms",
                  figures["rules add ms"] < 2)
    if figures := probe("codex"):
        yield row("`[mcp …]` line of Codex, from the notification to the terminal", "< 5 ms",
                  f"{figures['line ms']:.2f} ms, 90 % under {figures['line p90 ms']:.2f}, at most {figures['line max ms']:.1f} of {figures['lines']}",
                  figures["line p90 ms"] < 5)
        yield row(f"hub, a live thread of {figures['items']:,} items", "< 150 MB",
                  f"{figures['idle MB']:.1f} MB idle, {figures['thread MB']:.1f} with the thread, peak {figures['peak MB']:.1f}",
                  figures["peak MB"] < 150)
        yield row("the thread's page then", "responsive: < 200 ms",
                  f"{figures['page ms']:.1f} ms, at most {figures['page max ms']:.1f}; in its middle {figures['middle page ms']:.1f}; "
                  f"while items pour in {figures['page under load ms']:.1f}, at most {figures['page under load max ms']:.1f}",
                  figures["page max ms"] < 200 and figures["page under load max ms"] < 200)
        yield row(f"the same line with {figures['followers']} followers of the thread", "p99 < 1 ms",
                  f"{figures['followed line ms']:.2f} ms, p99 {figures['followed line p99 ms']:.2f}, at most "
                  f"{figures['followed line max ms']:.1f} of {figures['followed lines']:,}", figures["followed line p99 ms"] < 1)
        yield row(f"export of a recording of {figures['export bytes'] / 1e9:.1f} GB without its secrets", "< 15 s",
                  f"{figures['export s']:.1f} s", figures["export s"] < 15)
        yield row("memory of an export", "the same for ten times as much",
                  f"{figures['export small MB']:.0f} MB for 0.1 GB, {figures['export MB']:.0f} for 1 GB",
                  figures["export MB"] < 1.2 * figures["export small MB"] + 4)
    if figures := probe("events"):
        yield row(f"{figures['events']:,} events through reader, correlator and console, in order", "< 2 s",
                  f"{figures['computing']:.2f} s of computing, {figures['seconds']:.2f} s with what else the machine did",
                  figures["events"] >= 1_000_000 and figures["computing"] < 2)


    if figures := probe("assistant"):
        for name, tool, most in (("user", "getUser", 1), ("event", "getEvent", 1), ("events", "listEvents", 5)):
            what = f"`{tool}` with {figures['imported']:,} events in the calendar"
            more = f", {figures['listed']} events each" if name == "events" else ""
            yield row(what, f"p99 < {most} ms", f"{figures[name + ' ms']:.2f} ms, p99 {figures[name + ' p99 ms']:.2f}{more}",
                      figures[f"{name} p99 ms"] < most)
        yield row(f"import of {figures['imported']:,} events", "≤ 5 s of CPU",
                  f"{figures['import cpu s']:.1f} s of CPU in {figures['import s']:.1f} s, peak {figures['import peak MB']:.0f} MB",
                  figures["import cpu s"] <= 5)
        yield row(f"plan {figures['users']:,} users × 10 events", "< 10 s, memory flat",
                  f"{figures['plan s']:.1f} s, peak {figures['plan peak MB']:.1f} MB ({figures['plan few peak MB']:.1f} for a tenth)",
                  figures["plan s"] < 10 and figures["plan peak MB"] < 1.5 * figures["plan few peak MB"])
        yield row("1,000 mails due at once, to a server on loopback", "< 5 s, each once",
                  f"{figures['mails s']:.1f} s, {figures['mails']:,} taken, {figures['mails twice']} twice",
                  figures["mails s"] < 5 and figures["mails"] == 1000 and not figures["mails twice"])
    if figures := probe("combined"):
        yield row("all toolsets, relay and warm hub, to the answer to `initialize`", "< 10 ms",
                  f"{figures['hello ms']:.1f} ms, p90 {figures['hello p90 ms']:.1f}; with `tools/list` {figures['both ms']:.1f}",
                  figures["hello ms"] < 10)
        yield row("the same without a hub", "< 150 ms", f"{figures['cold ms']:.0f} ms, at most {figures['cold max ms']:.0f}",
                  figures["cold ms"] < 150)
        yield row("`tools/list` of all toolsets", "< 1 ms, < 25 kB",
                  f"{figures['list ms']:.2f} ms, p99 {figures['list p99 ms']:.2f}; {figures['list bytes']:,} bytes",
                  figures["list ms"] < 1 and figures["list bytes"] < 25_000)
        yield row(f"{figures['clients']} connected clients", "hub < 100 MB, relay < 4 MB",
                  f"hub {figures['hub MB']:.1f} MB ({figures['alone MB']:.1f} with one), peak {figures['hub peak MB']:.1f}; "
                  f"a relay costs at most {figures['relay share MB']:.2f} MB, with the program that all share "
                  f"{figures['relay max MB']:.2f} are resident",
                  figures["hub peak MB"] < 100 and figures["relay share MB"] < 4)
        yield row("the overview of the console, first to last byte", "< 100 ms",
                  f"{figures['overview ms']:.1f} ms, at most {figures['overview max ms']:.1f}", figures["overview ms"] < 100)
    if figures := probe("console"):
        slowest, (median, most) = max(figures["pages"].items(), key=lambda one: one[1][0])
        yield row("each page of the console, 5,000 questions, 10,000 prompts and 10,000 tasks", "< 50 ms",
                  f"{median:.0f} ms for {slowest}, at most {most:.0f}", median < 50)
        yield row("a question, from its request to the list of an open page in a browser", "p99 < 150 ms",
                  f"{figures['shown ms']:.1f} ms, p99 {figures['shown p99 ms']:.1f} of {figures['shown']}", figures["shown p99 ms"] < 150)
        yield row("the Inbox over the wire, nothing cached", "< 60 kB", f"{figures['wire bytes'] / 1000:.1f} kB", figures["wire bytes"] < 60_000)
        yield row("the first paint of the Inbox, nothing cached", "< 1.6 × a page of one word",
                  f"{figures['paint ms']:.0f} ms, p90 {figures['paint p90 ms']:.0f} of {figures['of']}; its text {figures['content ms']:.0f}; a page of one word {figures['bare ms']:.0f}; "
                  f"{figures['machine busy %']:.0f} % of the machine busy",
                  figures["paint ms"] < 1.6 * figures["bare ms"])
    for name, figures in (probe("cluster") or {}).items():
        if "absent" in figures:
            rows.append(f"| several machines: {name} | | left out: {figures['absent']} | |")
        elif "failed" in figures:
            yield row(f"several machines: {name}", "an answer", figures["failed"], False)
        else:
            yield from CLUSTER[name](figures)
    if figures := probe("build"):
        clean, base = figures["clean"], figures.get("base")
        against = f"; {clean['wall'] / base['wall']:.2f} × the {base['wall']:.0f} s of the base" if base else ""
        yield row("clean clone, `cargo build --release --locked`", "≤ 0.4 × the base",
                  f"{clean['wall']:.0f} s, {clean['cpu']:.0f} s of CPU time{against}",
                  not base or clean["wall"] <= 0.4 * base["wall"])
        yield row("one file of a domain: `cargo check -p`", "< 4 s", f"{figures['check']['wall']:.1f} s", figures["check"]["wall"] < 4)
        yield row("one file of a domain: `nextest -p`, built and run", "< 20 s", f"{figures['test']['wall']:.1f} s",
                  figures["test"]["wall"] < 20)
        before = figures.get("base_touched")
        against = f", {figures['release']['wall'] / before['wall']:.2f} × the {before['wall']:.0f} s of the base" if before else ""
        yield row("one file of a domain: release build", "≤ 0.2 × the base", f"{figures['release']['wall']:.0f} s{against}",
                  not before or figures["release"]["wall"] <= 0.2 * before["wall"])


def short_tasks(figures):
    yield row(f"{figures['tasks']:,} short tasks on three workers", "≥ 0.6 × one hub alone with as many slots",
              f"{figures['workers to hub']:.2f} ×, {figures['workers tasks/s']:.1f}/s and {figures['hub tasks/s']:.1f}/s",
              figures["workers to hub"] >= 0.6)


def claims(figures):
    for engine, name in (("sqlite", "SQLite"), ("postgres", "PostgreSQL")):
        claim = f"{engine} claim, 100 callers,"
        yield row(f"claim of one task among {figures['queued']:,} queued, {name}", "< 5 ms",
                  f"{figures[claim + ' ms']:.2f} ms, p99 {figures[claim + ' p99 ms']:.2f} of {figures['claims']}; with 10,000 callers "
                  f"{figures[f'{engine} claim, 10000 callers, ms']:.1f}",
                  figures[f"{claim} p99 ms"] < 5)


def cancels(figures):
    yield row("cancel of a task on a worker, from the call to the end of its process", "p99 < 250 ms",
              f"{figures['cancel ms']:.1f} ms, p99 {figures['cancel p99 ms']:.1f} of {figures['cancels']}", figures["cancel p99 ms"] < 250)


def other_hub(figures):
    for name, what in (("shown", "a question, from its request on one hub to an open page of another"),
                       ("answered", "its answer there, to the response on the first hub")):
        yield row(what, "p99 < 200 ms", f"{figures[name + ' ms']:.1f} ms, p99 {figures[name + ' p99 ms']:.1f} of {figures['questions']}",
                  figures[f"{name} p99 ms"] < 200)


def repository(figures):
    yield row(f"a later task of a repository of {figures['repository MB']} MB, from the call to the start of its run on a worker", "< 1 s",
              f"{figures['later ms'] / 1000:.2f} s, at most {figures['later max ms'] / 1000:.2f} of {figures['later']}; "
              f"the first {figures['first ms'] / 1000:.1f}", figures["later ms"] < 1000)


def traces(figures):
    yield row("calls with the trace of a client and no collector, to those with as many other bytes", "no difference (≥ 0.97 ×)",
              f"{figures['off to padded']:.3f} ×; to those without {figures['off to bare']:.2f} ×, with a collector {figures['on to bare']:.2f} ×",
              figures["off to padded"] >= 0.97)


CLUSTER = {"tasks": short_tasks, "claims": claims, "cancels": cancels, "questions": other_hub, "repository": repository, "traces": traces}


def ratio_to_limit(servers, name):
    return servers[name]["ratio"]


def errors(servers):
    return f", {faults(servers)} errors" if faults(servers) else ""


def main():
    verdicts = list(judge())
    print("| figure | demanded | measured | holds |\n|---|---|---|---|")
    print("\n".join(rows))
    order = ["start", "calls-1", "calls-32", "list", "large-input", "many-places"]
    order += [f"http-{kind}-{c}" for c in (1, 32, 256) for kind in ("sessions", "stateless")] + ["http-start"]
    for name in order:
        if (folder / f"{name}.md").exists():
            print(f"\n## {name}\n{(folder / f'{name}.md').read_text().strip()}")
    for name in ("changed", "refused", "pipelined", "connect", "overhead", "delegation", "queue", "claims", "questions", "permissions", "codex", "events", "combined", "console", "assistant", "cluster", "build"):
        if name not in failed and (figures := probe(name)):
            print(f"\n## {name}")
            print("\n".join(f"- {k}: {v:.2f}" if isinstance(v, float) else f"- {k}: {v}" for k, v in figures.items()))
    sys.exit(0 if verdicts and all(verdicts) and not failed else 1)


main()
