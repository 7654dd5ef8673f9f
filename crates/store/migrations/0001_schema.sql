-- The schema. TEXT and BIGINT only, so that SQLite and PostgreSQL read the same text and give the same values; instants
-- are epoch milliseconds. A column that no query names by its parts is JSON.
--
-- This file is never edited once it is released, because its checksum is in every database. Add another one.

-- Delegated tasks.

CREATE TABLE tasks (
    id TEXT PRIMARY KEY,
    -- Age: one more than the greatest so far.
    seq BIGINT NOT NULL,
    caller TEXT NOT NULL,
    agent TEXT NOT NULL,
    runner TEXT NOT NULL,
    workdir TEXT NOT NULL,
    priority BIGINT NOT NULL,
    parent TEXT,
    root TEXT NOT NULL,
    depth BIGINT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'succeeded', 'failed', 'cancelled', 'lost')),
    attempt BIGINT NOT NULL,
    fence BIGINT NOT NULL,
    hub TEXT,
    lease_until BIGINT,
    spool TEXT,
    cancel_requested_at BIGINT,
    failure TEXT,
    created_at BIGINT NOT NULL,
    started_at BIGINT,
    ended_at BIGINT
);

CREATE UNIQUE INDEX tasks_seq ON tasks (seq);
CREATE INDEX tasks_root ON tasks (root);
CREATE INDEX tasks_waiting ON tasks (caller, runner, priority DESC, seq) WHERE state = 'queued';
CREATE INDEX tasks_running ON tasks (hub, runner) WHERE state = 'running';

-- Columns that never change, apart because a changed row is written anew as a whole, and a task may be a megabyte.
CREATE TABLE task_inputs (
    task TEXT PRIMARY KEY REFERENCES tasks (id) ON DELETE CASCADE,
    text TEXT NOT NULL,
    options TEXT NOT NULL
);

-- The order of callers: one row for each caller and runner that had a queued task. The caller with the lowest turn
-- is next; a claim gives it the highest.
CREATE TABLE task_lanes (
    caller TEXT NOT NULL,
    runner TEXT NOT NULL,
    turn BIGINT NOT NULL,
    PRIMARY KEY (caller, runner)
);

CREATE INDEX task_lanes_turn ON task_lanes (turn);

CREATE TABLE task_events (
    task TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    seq BIGINT NOT NULL,
    at BIGINT NOT NULL,
    kind TEXT NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (task, seq)
);

CREATE TABLE task_results (
    task TEXT PRIMARY KEY REFERENCES tasks (id) ON DELETE CASCADE,
    caller TEXT NOT NULL,
    outcome TEXT NOT NULL,
    delivered_at BIGINT
);

CREATE INDEX task_results_undelivered ON task_results (caller) WHERE delivered_at IS NULL;

-- Questions for the user.

CREATE TABLE questions (
    id TEXT PRIMARY KEY,
    -- Age: one more than the greatest so far.
    seq BIGINT NOT NULL,
    -- Equal for questions that one answer settles.
    fingerprint TEXT NOT NULL,
    asker TEXT NOT NULL,
    client TEXT NOT NULL,
    workspace TEXT NOT NULL,
    title TEXT NOT NULL,
    level TEXT NOT NULL CHECK (level IN ('normal', 'high')),
    -- `held`: answered, and the answer can still be undone.
    state TEXT NOT NULL CHECK (state IN ('pending', 'held', 'decided')),
    kind TEXT CHECK (kind IN ('answered', 'declined', 'dismissed', 'timed_out', 'cancelled', 'client_gone')),
    asked_at BIGINT NOT NULL,
    deadline BIGINT NOT NULL,
    -- Milliseconds of being seen after which the default counts.
    default_after BIGINT,
    seen_at BIGINT,
    seen_ms BIGINT NOT NULL,
    seen_until BIGINT,
    snoozed_until BIGINT,
    held_until BIGINT,
    decided_at BIGINT,
    -- JSON of the domain, from `held` on.
    outcome TEXT
);

CREATE UNIQUE INDEX questions_seq ON questions (seq);
CREATE INDEX questions_fingerprint ON questions (fingerprint);
CREATE INDEX questions_pending ON questions (seq) WHERE state = 'pending';
CREATE INDEX questions_deadline ON questions (deadline) WHERE state = 'pending';
CREATE INDEX questions_asker ON questions (asker) WHERE state = 'pending';
CREATE INDEX questions_default ON questions (seq) WHERE state = 'pending' AND default_after IS NOT NULL;
CREATE INDEX questions_snoozed ON questions (snoozed_until) WHERE state = 'pending';
CREATE INDEX questions_held ON questions (held_until) WHERE state = 'held';
CREATE INDEX questions_decided ON questions (seq) WHERE state = 'decided';

-- Columns that never change, apart because a changed row is written anew as a whole.
CREATE TABLE question_bodies (
    question TEXT PRIMARY KEY REFERENCES questions (id) ON DELETE CASCADE,
    message TEXT NOT NULL,
    -- JSON of the domain: the fields, the timeout, the default.
    form TEXT NOT NULL
);

-- Recipients of the outcome: one row for each asker, and for each request if the answer needs the request's id.
CREATE TABLE question_deliveries (
    question TEXT NOT NULL REFERENCES questions (id) ON DELETE CASCADE,
    asker TEXT NOT NULL,
    -- The event stream that the answer goes to, and the id of the request, as JSON; both empty for a tool's call.
    stream TEXT NOT NULL,
    request TEXT NOT NULL,
    session TEXT NOT NULL,
    asked_at BIGINT NOT NULL,
    -- Since when the client of the session is disconnected.
    disconnected_at BIGINT,
    -- Until when a client without a connection is expected to ask again, and since when it is silent beyond that.
    -- Both are empty for a client whose end is noticed.
    lease_until BIGINT,
    silent_at BIGINT,
    delivered_at BIGINT,
    -- The number of the event that carries it.
    event BIGINT,
    PRIMARY KEY (question, asker, stream, request)
);

CREATE INDEX question_deliveries_open ON question_deliveries (asker) WHERE delivered_at IS NULL;
CREATE INDEX question_deliveries_stream ON question_deliveries (stream, event) WHERE stream <> '';
CREATE INDEX question_deliveries_session ON question_deliveries (session) WHERE delivered_at IS NULL;
CREATE INDEX question_deliveries_disconnected ON question_deliveries (disconnected_at) WHERE delivered_at IS NULL;

CREATE INDEX question_deliveries_leased ON question_deliveries (lease_until)
    WHERE delivered_at IS NULL AND disconnected_at IS NULL AND silent_at IS NULL;

CREATE TABLE question_events (
    question TEXT NOT NULL REFERENCES questions (id) ON DELETE CASCADE,
    seq BIGINT NOT NULL,
    at BIGINT NOT NULL,
    kind TEXT NOT NULL,
    who TEXT NOT NULL,
    PRIMARY KEY (question, seq)
);

-- Settings that hold for all questions.
CREATE TABLE question_settings (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
);

-- Users, their calendars, and their notifications.

CREATE TABLE users (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    email TEXT,
    phone TEXT,
    -- Zone, locale, channels, quiet hours, weekend policy, escalation.
    preferences TEXT NOT NULL,
    -- Grows with every change of the preferences or of a rule; a plan is made for one revision.
    revision BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);

CREATE UNIQUE INDEX users_email ON users (email);

CREATE TABLE calendars (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    -- local, file, url or caldav.
    source TEXT NOT NULL,
    place TEXT NOT NULL,
    -- The server's last version, so that only changes are read.
    etag TEXT,
    sync_token TEXT,
    read_at BIGINT
);

CREATE UNIQUE INDEX calendars_place ON calendars (user_id, source, place);

CREATE TABLE events (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    calendar_id TEXT NOT NULL REFERENCES calendars (id) ON DELETE CASCADE,
    uid TEXT NOT NULL,
    -- The civil start that this event replaces in the series of the same uid; empty for the series itself.
    recurrence_id TEXT NOT NULL,
    title TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('confirmed', 'tentative', 'cancelled')),
    starts_at BIGINT NOT NULL,
    ends_at BIGINT NOT NULL,
    -- 1 for a series.
    recurs BIGINT NOT NULL,
    details TEXT NOT NULL,
    -- A digest of everything that a plan depends on.
    digest TEXT NOT NULL,
    -- The server's name of this version, where there is a server.
    etag TEXT,
    updated_at BIGINT NOT NULL
);

CREATE UNIQUE INDEX events_uid ON events (calendar_id, uid, recurrence_id);
CREATE INDEX events_user ON events (user_id, starts_at);
CREATE INDEX events_series ON events (id) WHERE recurs = 1;

-- The component as it came, for a lossless export; apart because a changed row is written anew as a whole.
CREATE TABLE event_sources (
    event_id TEXT PRIMARY KEY REFERENCES events (id) ON DELETE CASCADE,
    source TEXT NOT NULL
);

-- Occurrences of events, within a horizon that moves with time.
CREATE TABLE occurrences (
    event_id TEXT NOT NULL REFERENCES events (id) ON DELETE CASCADE,
    -- The civil start, which stays when an override moves it.
    occurrence TEXT NOT NULL,
    user_id TEXT NOT NULL,
    starts_at BIGINT NOT NULL,
    ends_at BIGINT NOT NULL,
    -- 1 where a change of the clocks moved it.
    adjusted BIGINT NOT NULL,
    PRIMARY KEY (event_id, occurrence)
);

CREATE INDEX occurrences_user ON occurrences (user_id, starts_at, event_id);
CREATE INDEX occurrences_start ON occurrences (starts_at, event_id);

CREATE TABLE rules (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    terms TEXT NOT NULL,
    enabled BIGINT NOT NULL,
    priority BIGINT NOT NULL
);

CREATE INDEX rules_user ON rules (user_id, priority DESC);

CREATE TABLE plans (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    event_id TEXT NOT NULL REFERENCES events (id) ON DELETE CASCADE,
    occurrence TEXT NOT NULL,
    -- A digest of event, preferences, rules and policy: the same key is the same plan.
    plan_key TEXT NOT NULL,
    source TEXT NOT NULL,
    -- The reasons, step by step.
    reasons TEXT NOT NULL,
    made_at BIGINT NOT NULL,
    superseded_at BIGINT
);

CREATE UNIQUE INDEX plans_current ON plans (event_id, occurrence) WHERE superseded_at IS NULL;
CREATE INDEX plans_user ON plans (user_id);

CREATE TABLE notifications (
    id TEXT PRIMARY KEY,
    plan_id TEXT NOT NULL REFERENCES plans (id) ON DELETE CASCADE,
    user_id TEXT NOT NULL,
    event_id TEXT NOT NULL,
    occurrence TEXT NOT NULL,
    channel TEXT NOT NULL,
    due_at BIGINT NOT NULL,
    urgency TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('planned', 'sending', 'sent', 'simulated', 'failed', 'unknown', 'dead',
                                           'merged', 'cancelled', 'superseded')),
    -- When it may be tried (again); the due time until a try failed.
    try_at BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    lease_owner TEXT,
    lease_until BIGINT,
    sent_at BIGINT,
    acknowledged_at BIGINT,
    error TEXT,
    -- Offset, wording and reasons.
    details TEXT NOT NULL,
    updated_at BIGINT NOT NULL
);

CREATE INDEX notifications_due ON notifications (try_at) WHERE status = 'planned';
CREATE INDEX notifications_leased ON notifications (lease_until) WHERE status = 'sending';
CREATE INDEX notifications_event ON notifications (event_id, occurrence);
CREATE INDEX notifications_user ON notifications (user_id, due_at);
CREATE INDEX notifications_time ON notifications (due_at);
CREATE INDEX notifications_plan ON notifications (plan_id);

CREATE TABLE attempts (
    notification_id TEXT NOT NULL REFERENCES notifications (id) ON DELETE CASCADE,
    attempt BIGINT NOT NULL,
    started_at BIGINT NOT NULL,
    ended_at BIGINT,
    -- sent, simulated, failed or unknown.
    outcome TEXT,
    detail TEXT,
    PRIMARY KEY (notification_id, attempt)
);

CREATE TABLE audit (
    id TEXT PRIMARY KEY,
    at BIGINT NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    subject TEXT NOT NULL,
    detail TEXT NOT NULL
);

CREATE INDEX audit_at ON audit (at);
CREATE INDEX audit_subject ON audit (subject, at);

-- Unacknowledged and merged notifications are searched with every send.
CREATE INDEX notifications_urgent ON notifications (updated_at, id)
    WHERE urgency = 'urgent' AND acknowledged_at IS NULL;
CREATE INDEX notifications_merged ON notifications (error) WHERE status = 'merged';

-- Feeds, from which other calendar programs read a user's events.

CREATE TABLE feeds (
    user_id TEXT PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    -- The secret part of the address.
    secret TEXT NOT NULL,
    -- Of the secret. A search compares digests, so that its duration reveals nothing about a secret.
    digest TEXT NOT NULL,
    made_at BIGINT NOT NULL
);

CREATE UNIQUE INDEX feeds_digest ON feeds (digest);

-- Codex threads.

CREATE TABLE codex_threads (
    id TEXT PRIMARY KEY,
    backend TEXT NOT NULL,
    version TEXT NOT NULL,
    cwd TEXT NOT NULL,
    model TEXT NOT NULL,
    -- The beginning of the first prompt.
    title TEXT NOT NULL,
    -- The options of its start, as JSON.
    settings TEXT NOT NULL,
    tokens BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);

CREATE INDEX codex_threads_updated ON codex_threads (updated_at, id);

CREATE TABLE codex_turns (
    thread TEXT NOT NULL REFERENCES codex_threads (id) ON DELETE CASCADE,
    turn TEXT NOT NULL,
    -- `completed`, `interrupted`, `failed`; NULL while it runs, and if nobody saw its end.
    ended TEXT,
    failure TEXT,
    started_at BIGINT NOT NULL,
    ended_at BIGINT,
    -- The last heartbeat of the hub that runs the turn. Hubs that share a database end the turns without one.
    heartbeat_at BIGINT,
    PRIMARY KEY (thread, turn)
);

CREATE TABLE codex_items (
    thread TEXT NOT NULL REFERENCES codex_threads (id) ON DELETE CASCADE,
    -- In the order in which items ended.
    seq BIGINT NOT NULL,
    id TEXT NOT NULL,
    turn TEXT NOT NULL,
    kind TEXT NOT NULL,
    -- The text that is searched.
    text TEXT NOT NULL,
    -- The whole item as JSON.
    body TEXT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (thread, id)
);

CREATE UNIQUE INDEX codex_items_seq ON codex_items (thread, seq);

-- Turns of Codex that are tasks of MCP.

CREATE TABLE codex_handles (
    id TEXT PRIMARY KEY,
    -- The caller's key.
    owner TEXT NOT NULL,
    thread TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    -- While it is open, the last heartbeat of its hub.
    updated_at BIGINT NOT NULL,
    -- `completed`, `interrupted`, `failed`, `withdrawn`, `lost`; NULL while it is open.
    ended TEXT,
    answer TEXT,
    failure TEXT
);

CREATE INDEX codex_handles_created ON codex_handles (created_at, id);
