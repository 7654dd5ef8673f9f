"""The model of sizing.py: what so many developers need, and which limit ends first. Prints Markdown tables.

Every figure is computed from the measured inputs, the limits of the program and the assumptions of use.
"""

# Assumptions of use, each of one developer.
QUESTIONS_A_DAY, TASKS_A_DAY = 30, 20
CLIENTS, PAGES_IN_SIGHT = 2, 0.05
# Of all developers.
WORKING_SECONDS, PEAK = 8 * 3600, 3
# Of a question until its answer, and of a run of an agent.
ANSWER_SECONDS, RUN_SECONDS = 300, 300
DEVELOPERS_OF_A_HUB, SLOTS_OF_A_WORKER = 500, 8
CORES_OF_A_MACHINE, MB_OF_A_MACHINE = 8, 32_000
DAYS_OF_A_MONTH = 21

# Limits of the program and of PostgreSQL, as they are without a setting.
KEEP_QUESTION_DAYS, KEEP_TASKS, KEEP_TASK_DAYS = 90, 5_000, 7
HTTP_CONNECTIONS, SESSIONS, PENDING = 2_048, 1_024, 20_000
POSTGRES_CONNECTIONS = 97
SOCKET_CLIENTS = 512
# A console shows changes so often at most.
PAGE_LOADS = 5


def per_hub(inputs, kind, name):
    """What one more hub adds to a figure that was measured with two hubs and with four."""
    return max(0.0, (inputs["questions"][f"{kind}, 4 hubs"][name] - inputs["questions"][f"{kind}, 2 hubs"][name]) / 2)


def cost(inputs, kind, name, hubs):
    return inputs["questions"][f"{kind}, 2 hubs"][name] + (hubs - 2) * per_hub(inputs, kind, name)


def of_a_hub(inputs):
    """The connections of a hub to PostgreSQL."""
    return -(-inputs["questions"]["connections, 4 busy hubs"] // 4)


def of_workers(inputs, name):
    """What an idle worker adds each second."""
    tasks = inputs["tasks"]
    return max(0.0, (tasks["idle, with 3 workers"][name] - tasks["idle, hub without workers"][name]) / 3)


def model(inputs, developers):
    """The figures for so many developers, at the peak of a day where they are rates."""
    peak = lambda a_day: developers * a_day / WORKING_SECONDS * PEAK
    hubs = max(1, -(-developers // DEVELOPERS_OF_A_HUB))
    questions, tasks = peak(QUESTIONS_A_DAY), peak(TASKS_A_DAY)
    workers = max(1, -(-int(tasks * RUN_SECONDS) // SLOTS_OF_A_WORKER))
    # A question changes twice: it is asked, and it is answered.
    loads = developers * PAGES_IN_SIGHT * min(PAGE_LOADS, 2 * questions)
    task, page, clients = inputs["tasks"]["task"], inputs["questions"]["page"], inputs["clients"]

    def total(name):
        return (questions * cost(inputs, "question", name, hubs) + tasks * task[name] + loads * max(0.0, page[name])
                + cost(inputs, "idle", name, hubs) + workers * of_workers(inputs, name))

    question_bytes, task_bytes = inputs["questions"]["question bytes"], inputs["tasks"]["task bytes"]
    kept_tasks = min(hubs * KEEP_TASKS, developers * TASKS_A_DAY * KEEP_TASK_DAYS)
    days = KEEP_QUESTION_DAYS * DAYS_OF_A_MONTH / 30
    hub_mb = inputs["questions"]["hub MB"] + DEVELOPERS_OF_A_HUB * (CLIENTS * clients["session kB"] + PAGES_IN_SIGHT * clients["stream kB"]) / 1024
    connections = hubs * of_a_hub(inputs)
    cpu = {"hubs": total("hubs cpu"), "PostgreSQL": total("postgres cpu"), "NATS": total("nats cpu"), "workers": tasks * inputs["tasks"]["worker cpu of a task"]}
    memory = {"hubs": hubs * hub_mb, "PostgreSQL": connections * inputs["questions"]["postgres MB of a connection"],
              "NATS": inputs["questions"]["nats MB"], "workers": workers * inputs["tasks"]["worker MB"]}
    return {
        "developers": developers, "hubs": hubs, "workers": workers, "questions/s": questions, "tasks/s": tasks, "page loads/s": loads,
        "messages/s": total("messages"), "message MB/s": total("message bytes") / 1e6, "statements/s": total("statements"),
        "day MB": developers * (QUESTIONS_A_DAY * question_bytes + TASKS_A_DAY * task_bytes) / 1e6,
        "kept GB": (developers * QUESTIONS_A_DAY * days * question_bytes + kept_tasks * task_bytes) / 1e9,
        "wal GB a day": (developers * (QUESTIONS_A_DAY * cost(inputs, "question", "wal bytes", hubs) + TASKS_A_DAY * task["wal bytes"])) / 1e9,
        "days of tasks": kept_tasks / (developers * TASKS_A_DAY), "pending": questions * ANSWER_SECONDS,
        "http": DEVELOPERS_OF_A_HUB * (CLIENTS + PAGES_IN_SIGHT), "postgres connections": connections, "nats connections": hubs + workers,
        "cpu": cpu, "memory": memory, "hub MB": hub_mb,
    }


def first(inputs, holds):
    """The greatest number of developers, in steps of a hub, for which a limit holds, as a text."""
    developers = 0
    while developers < 100_000 and holds(model(inputs, developers + DEVELOPERS_OF_A_HUB)):
        developers += DEVELOPERS_OF_A_HUB
    return f"{developers:,}" if developers < 100_000 else "more than 100,000"


def machines(cpu, mb):
    """Machines for so much CPU at half of their capacity, and memory."""
    return max(cpu / (CORES_OF_A_MACHINE / 2), mb / MB_OF_A_MACHINE)


def limits(inputs):
    """What ends first: the limit, and the developers that it is enough for."""
    stored = inputs["rates"]["stored/s by 3 hubs"] / 2
    by_clients = lambda limit, each: int(limit / each)
    rows = [
        (f"clients of a hub's own machine: {SOCKET_CLIENTS}", f"{by_clients(SOCKET_CLIENTS, CLIENTS):,} of one hub", "connect over HTTP, or start more hubs"),
        (f"HTTP sessions of a hub: {SESSIONS:,} (`sessions`)", f"{by_clients(SESSIONS, CLIENTS):,} of one hub", "raise `sessions`, or start more hubs"),
        (f"HTTP connections of a hub: {HTTP_CONNECTIONS:,}", f"{by_clients(HTTP_CONNECTIONS, CLIENTS + PAGES_IN_SIGHT):,} of one hub", "start more hubs"),
        (f"kept tasks of a hub: {KEEP_TASKS:,} (`keep_count`)", f"{KEEP_TASKS // (TASKS_A_DAY * KEEP_TASK_DAYS):,} of one hub for {KEEP_TASK_DAYS} days", "raise `keep_count`"),
        (f"connections of PostgreSQL: 100, of which 3 are reserved; {of_a_hub(inputs)} a hub", first(inputs, lambda m: m['postgres connections'] <= POSTGRES_CONNECTIONS), "raise `max_connections`"),
        (f"pending questions of one database: {PENDING:,} (`pending`)", first(inputs, lambda m: m['pending'] <= PENDING), "raise `pending`, or a database for each department"),
        (f"questions that hubs of one database store and answer: {stored:,.0f} a second", first(inputs, lambda m: m['questions/s'] <= stored), "a database for each department"),
        (f"CPU of PostgreSQL: {CORES_OF_A_MACHINE} cores, half used", first(inputs, lambda m: m['cpu']['PostgreSQL'] <= CORES_OF_A_MACHINE / 2), "a larger machine, or a database for each department"),
        (f"CPU of a hub: {CORES_OF_A_MACHINE} cores, half used", first(inputs, lambda m: m['cpu']['hubs'] / m['hubs'] <= CORES_OF_A_MACHINE / 2), "fewer developers on each hub"),
    ]
    return rows


def print_inputs(inputs):
    questions, tasks, clients = inputs["questions"], inputs["tasks"], inputs["clients"]
    two, four, task, page = questions["question, 2 hubs"], questions["question, 4 hubs"], tasks["task"], questions["page"]
    more = lambda name: per_hub(inputs, "question", name)
    print("| | a question, two hubs | each further hub | a task on a worker | a page of the Inbox |\n|---|---|---|---|---|")
    print(f"| statements of PostgreSQL | {two['statements']:.0f} | {more('statements'):.0f} | {task['statements']:.0f} | {page['statements']:.1f} |")
    print(f"| messages of NATS, in and out | {two['messages']:.0f} | {more('messages'):.0f} | {task['messages']:.0f}, {task['message bytes'] / 1000:.0f} kB | 0 |")
    print(f"| CPU of all hubs | {two['hubs cpu'] * 1000:.1f} ms | {more('hubs cpu') * 1000:.1f} ms | {task['hubs cpu'] * 1000:.0f} ms | {page['hubs cpu'] * 1000:.1f} ms |")
    print(f"| CPU of PostgreSQL | {two['postgres cpu'] * 1000:.1f} ms | {more('postgres cpu') * 1000:.1f} ms | {task['postgres cpu'] * 1000:.0f} ms | {page['postgres cpu'] * 1000:.1f} ms |")
    print(f"| CPU of NATS, of the worker | {two['nats cpu'] * 1000:.1f} ms | | {task['nats cpu'] * 1000:.1f} ms, {tasks['worker cpu of a task'] * 1000:.0f} ms | |")
    print(f"| rows with their indexes | {questions['question bytes'] / 1000:.1f} kB | | {tasks['task bytes'] / 1000:.1f} kB | |")
    print(f"| write-ahead log | {two['wal bytes'] / 1000:.1f} kB | | {task['wal bytes'] / 1000:.1f} kB | |")
    idle = {name: value / 4 for name, value in questions["idle, 4 hubs"].items()}
    print("\n| what waits | |\n|---|---|")
    print(f"| a hub | {questions['hub MB']:.0f} MB, {of_a_hub(inputs)} connections to PostgreSQL, {idle['statements']:.1f} statements a second, {idle['hubs cpu'] * 1000:.1f} ms of CPU a second |")
    print(f"| a worker | {tasks['worker MB']:.0f} MB, {of_workers(inputs, 'messages'):.1f} messages and {of_workers(inputs, 'statements'):.1f} statements a second |")
    print(f"| an HTTP session, an open page, in the hub | {clients['session kB']:.0f} kB, {clients['stream kB']:.0f} kB |")
    print(f"| a relay on the hub's machine, one to a hub on another machine | {clients['relay MB']:.1f} MB, {clients['remote relay MB']:.1f} MB (`Pss`) |")
    print(f"| a connection of PostgreSQL, the NATS server | {questions['postgres MB of a connection']:.1f} MB (`Pss`), {questions['nats MB']:.0f} MB |")
    stored = inputs["rates"]
    print(f"\nHubs stored {stored['stored/s by 1 hub']:.0f} questions a second, as fast as one could, and three together {stored['stored/s by 3 hubs']:.0f}.\n")


def print_model(inputs):
    print_inputs(inputs)
    sizes = [model(inputs, developers) for developers in (500, 2_000, 10_000)]
    head = "| | " + " | ".join(f"{m['developers']:,} developers" for m in sizes) + " |\n|" + "---|" * (1 + len(sizes))
    print(head)

    def row(what, show):
        print(f"| {what} | " + " | ".join(show(m) for m in sizes) + " |")

    row("hubs, workers", lambda m: f"{m['hubs']}, {m['workers']}")
    row("questions, tasks at the peak", lambda m: f"{m['questions/s']:.1f}/s, {m['tasks/s']:.1f}/s")
    row("page loads of consoles", lambda m: f"{m['page loads/s']:,.0f}/s")
    row("messages of NATS", lambda m: f"{m['messages/s']:,.0f}/s, {m['message MB/s']:.2f} MB/s")
    row("statements of PostgreSQL", lambda m: f"{m['statements/s']:,.0f}/s")
    row("rows, a day", lambda m: f"{m['day MB']:,.0f} MB")
    row("rows, kept", lambda m: f"{m['kept GB']:.1f} GB")
    row("write-ahead log, a day", lambda m: f"{m['wal GB a day']:.1f} GB")
    row("connections of NATS, of PostgreSQL", lambda m: f"{m['nats connections']}, {m['postgres connections']}")
    row("HTTP connections of each hub", lambda m: f"{m['http']:,.0f}")
    for name in ("hubs", "PostgreSQL", "NATS", "workers"):
        row(f"CPU, memory of {'all ' if name in ('hubs', 'workers') else ''}{name}", lambda m: f"{m['cpu'][name]:.1f} cores, {m['memory'][name]:,.0f} MB")
    row(f"machines of {CORES_OF_A_MACHINE} cores and {MB_OF_A_MACHINE // 1000} GB, without the agents",
        lambda m: f"{sum(max(1, -(-machines(m['cpu'][name], m['memory'][name]) // 1)) for name in ('hubs', 'PostgreSQL')) + 1:.0f}")
    print()
    print("| limit | is enough for | then |\n|---|---|---|")
    for limit in limits(inputs):
        print("| " + " | ".join(limit) + " |")
