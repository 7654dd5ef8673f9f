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
    """What mcpload said about each server, by name; empty when the section was not run or failed."""
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
    """What a probe said; None when it was not run or failed."""
    path = folder / f"{name}.json"
    if not path.exists():
        return None
    said = json.loads(path.read_text() or '{"failed": "no output"}')
    if "failed" in said:
        rows.append(f"| {name} | an answer | {said['failed']} | **no** |")
        failed.append(name)
        return None
    return said


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
    if said := probe("changed"):
        yield row("a changed file shows among 10,000", "≤ 500 ms",
                  f"{said['median ms']:.0f} ms, at most {said['max ms']:.0f} of {said['changes']}", said["max ms"] <= 500)
    for name, what in (("large-input", "1 MiB into one place"), ("many-places", "1 KiB into 1,000 places")):
        servers = section(name)
        if servers:
            peers = [n for n in servers if n not in ("limit", "byhand", "adjutant")]
            best = max(peers, key=lambda n: servers[n]["req/s"])
            r = ratio(servers, best)
            yield row(what, "≥ the best peer",
                      f"{r:.2f} × {best}, {ratio(servers, 'limit'):.2f} × limit{errors(servers)}",
                      r >= 1 and not faults(servers))
    if said := probe("refused"):
        yield row("1 MiB into 1,000 places", "refused before memory is spent",
                  f"{'refused' if said['refused'] else 'served'} in {said['ms']:.1f} ms, peak {said['peak MB']:.1f} MB",
                  said["refused"] and said["lives"] and said["peak MB"] < 20)
    if said := probe("pipelined"):
        whole = said["answered"] + said["busy"] == said["calls"] and not said["answered twice"]
        yield row("50,000 pipelined calls", "< 20 MB, one answer each",
                  f"peak {said['peak MB']:.1f} MB, {said['answered']} answered, {said['busy']} refused as busy",
                  whole and said["peak MB"] < 20)
    if said := probe("connect"):
        yield row("`connect`, resident", "< 4 MB",
                  f"{said['connect MB']:.1f} MB, {said['connect used MB']:.1f} MB after 2 MB answers",
                  said["connect MB"] < 4)
        yield row("`connect`, added to the first answer with a hub running", "< 5 ms",
                  f"{said['added ms']:.2f} ms, 90 % under {said['added p90 ms']:.2f}", said["added ms"] < 5)
        cold = max(said["cold max ms"], said["cold 10,000 max ms"])
        yield row("`connect` starts the hub, first answers", "≤ 500 ms",
                  f"{said['cold ms']:.0f} ms; {said['cold 10,000 ms']:.0f} ms with 10,000 prompts; at most {cold:.0f}",
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


    if said := probe("delegation"):
        yield row("a delegation, over the runner's own time", "< 15 ms",
                  f"{said['overhead ms']:.1f} ms, 90 % under {said['overhead p90 ms']:.1f}", said["overhead ms"] < 15)
        yield row(f"hub, {said['at once']} tasks under way and one floods {said['flood MB']} MB", "< 64 MB",
                  f"{said['idle MB']:.1f} MB idle, {said['crowded MB']:.1f} with the tasks, peak {said['peak MB']:.1f}",
                  said["peak MB"] < 64)
        for runner in ("codex", "copilot"):
            yield row(f"cancel to no process left, real {runner}", "< 2 s, none left",
                      f"{said[runner + ' cancel ms']:.0f} ms, at most {said[runner + ' cancel max ms']:.0f} of "
                      f"{said['rounds']}, {said[runner + ' left']} left",
                      said[f"{runner} cancel max ms"] < 2000 and not said[f"{runner} left"])
    if said := probe("queue"):
        yield row("queued tasks, claimed and finished on SQLite, each on disk", "> 2,000/s",
                  f"{said['finished']:,}/s, entered {said['entered']:,}/s", said["finished"] > 2000)
    if said := probe("questions"):
        yield row("a question, from its request to an open console", "< 50 ms",
                  f"{said['visible ms']:.1f} ms, at most {said['visible max ms']:.1f} of {said['rounds']}",
                  said["visible max ms"] < 50)
        yield row("an answer, to the response on the wire", "< 10 ms",
                  f"{said['answered ms']:.1f} ms, at most {said['answered max ms']:.1f} of {said['rounds']}",
                  said["answered ms"] < 10)
        yield row(f"hub, {said['pending']:,} questions pending", "< 150 MB",
                  f"{said['idle MB']:.1f} MB idle, {said['pending MB']:.1f} with the questions, peak {said['peak MB']:.1f}",
                  said["peak MB"] < 150)
        yield row("a page of the console then", "< 200 ms",
                  f"the list {said['page ms']:.1f} ms, at most {said['page max ms']:.1f}; a question {said['question ms']:.1f}; "
                  f"the overview {said['overview ms']:.1f}", said["page max ms"] < 200)
        yield row(f"hub, {said['streams']:,} event streams open", "< 100 MB",
                  f"{said['without MB']:.1f} MB without, {said['streams MB']:.1f} with, peak {said['streams peak MB']:.1f}; "
                  f"all told of a question in {said['all told ms']:.0f} ms", said["streams peak MB"] < 100)
    if said := probe("codex"):
        yield row("`[mcp …]` line of Codex, from the notification to the terminal", "< 5 ms",
                  f"{said['line ms']:.2f} ms, 90 % under {said['line p90 ms']:.2f}, at most {said['line max ms']:.1f} of {said['lines']}",
                  said["line p90 ms"] < 5)
        yield row(f"hub, a live thread of {said['items']:,} items", "< 150 MB",
                  f"{said['idle MB']:.1f} MB idle, {said['thread MB']:.1f} with the thread, peak {said['peak MB']:.1f}",
                  said["peak MB"] < 150)
        yield row("the thread's page then", "responsive: < 200 ms",
                  f"{said['page ms']:.1f} ms, at most {said['page max ms']:.1f}; in its middle {said['middle page ms']:.1f}; "
                  f"while items pour in {said['page under load ms']:.1f}, at most {said['page under load max ms']:.1f}",
                  said["page max ms"] < 200 and said["page under load max ms"] < 200)
    if said := probe("events"):
        yield row(f"{said['events']:,} events through reader, correlator and console, in order", "< 2 s",
                  f"{said['computing']:.2f} s of computing, {said['seconds']:.2f} s with what else the machine did",
                  said["events"] >= 1_000_000 and said["computing"] < 2)


    if said := probe("assistant"):
        for name, tool, most in (("user", "getUser", 1), ("event", "getEvent", 1), ("events", "listEvents", 5)):
            what = f"`{tool}` with {said['imported']:,} events in the calendar"
            more = f", {said['listed']} events each" if name == "events" else ""
            yield row(what, f"p99 < {most} ms", f"{said[name + ' ms']:.2f} ms, p99 {said[name + ' p99 ms']:.2f}{more}",
                      said[f"{name} p99 ms"] < most)
        yield row(f"import of {said['imported']:,} events", "< 20 s",
                  f"{said['import s']:.1f} s, peak {said['import peak MB']:.0f} MB", said["import s"] < 20)
        yield row(f"plan {said['users']:,} users × 10 events", "< 10 s, memory flat",
                  f"{said['plan s']:.1f} s, peak {said['plan peak MB']:.1f} MB ({said['plan few peak MB']:.1f} for a tenth)",
                  said["plan s"] < 10 and said["plan peak MB"] < 1.5 * said["plan few peak MB"])
        yield row("1,000 mails due at once, to a server on loopback", "< 5 s, each once",
                  f"{said['mails s']:.1f} s, {said['mails']:,} taken, {said['mails twice']} twice",
                  said["mails s"] < 5 and said["mails"] == 1000 and not said["mails twice"])
    if said := probe("combined"):
        yield row("all toolsets, relay and warm hub, to the answer to `initialize`", "< 10 ms",
                  f"{said['hello ms']:.1f} ms, p90 {said['hello p90 ms']:.1f}; with `tools/list` {said['both ms']:.1f}",
                  said["hello ms"] < 10)
        yield row("the same without a hub", "< 150 ms", f"{said['cold ms']:.0f} ms, at most {said['cold max ms']:.0f}",
                  said["cold ms"] < 150)
        yield row("`tools/list` of all toolsets", "< 1 ms, < 25 kB",
                  f"{said['list ms']:.2f} ms, p99 {said['list p99 ms']:.2f}; {said['list bytes']:,} bytes",
                  said["list ms"] < 1 and said["list bytes"] < 25_000)
        yield row(f"{said['clients']} connected clients", "hub < 100 MB, relay < 4 MB",
                  f"hub {said['hub MB']:.1f} MB ({said['alone MB']:.1f} with one), peak {said['hub peak MB']:.1f}; "
                  f"a relay costs at most {said['relay share MB']:.2f} MB, with the program that all share "
                  f"{said['relay max MB']:.2f} are resident",
                  said["hub peak MB"] < 100 and said["relay share MB"] < 4)
        yield row("the overview of the console, first to last byte", "< 100 ms",
                  f"{said['overview ms']:.1f} ms, at most {said['overview max ms']:.1f}", said["overview ms"] < 100)
    if said := probe("console"):
        yield row("the first paint of the console's overview, nothing cached", "< 100 ms",
                  f"{said['paint ms']:.0f} ms, p90 {said['paint p90 ms']:.0f} of {said['of']}; a page of one word {said['bare ms']:.0f}; "
                  f"{said['machine busy %']:.0f} % of the machine busy",
                  said["paint ms"] < 100)
    if said := probe("build"):
        clean, base = said["clean"], said.get("base")
        against = f"; {clean['wall'] / base['wall']:.2f} × the {base['wall']:.0f} s of the base" if base else ""
        yield row("clean clone, `cargo build --release --locked`", "≤ 0.4 × the base",
                  f"{clean['wall']:.0f} s, {clean['cpu']:.0f} s of CPU time{against}",
                  not base or clean["wall"] <= 0.4 * base["wall"])
        yield row("one file of a domain: `cargo check -p`", "< 4 s", f"{said['check']['wall']:.1f} s", said["check"]["wall"] < 4)
        yield row("one file of a domain: `nextest -p`, built and run", "< 20 s", f"{said['test']['wall']:.1f} s",
                  said["test"]["wall"] < 20)
        before = said.get("base_touched")
        against = f", {said['release']['wall'] / before['wall']:.2f} × the {before['wall']:.0f} s of the base" if before else ""
        yield row("one file of a domain: release build", "≤ 0.2 × the base", f"{said['release']['wall']:.0f} s{against}",
                  not before or said["release"]["wall"] <= 0.2 * before["wall"])


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
    for name in ("changed", "refused", "pipelined", "connect", "delegation", "queue", "questions", "codex", "events", "combined", "console", "assistant", "build"):
        if name not in failed and (said := probe(name)):
            print(f"\n## {name}")
            print("\n".join(f"- {k}: {v:.2f}" if isinstance(v, float) else f"- {k}: {v}" for k, v in said.items()))
    sys.exit(0 if verdicts and all(verdicts) and not failed else 1)


main()
