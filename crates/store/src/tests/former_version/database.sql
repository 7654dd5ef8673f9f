PRAGMA foreign_keys = OFF;
BEGIN TRANSACTION;
CREATE TABLE _sqlx_migrations (
    version BIGINT PRIMARY KEY,
    description TEXT NOT NULL,
    installed_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    success BOOLEAN NOT NULL,
    checksum BLOB NOT NULL,
    execution_time BIGINT NOT NULL
);
INSERT INTO "_sqlx_migrations" VALUES(1,'schema','2026-11-28 11:35:09',1,X'72F7B025F1DA62943D15518CC9E05C5AB2E93B14D365805F6425662202F49BCDA6DA1DB1AEFB16970771336C4C874F3A',8715913);
INSERT INTO "_sqlx_migrations" VALUES(2,'question load','2026-11-28 11:35:09',1,X'167158D55FAE459777F470B6BFA0B84CC12B8BB7864DD864A104BD3C5FB3E681F84A8C933390A374A10CD7C5A48A03CF',1537315);
INSERT INTO "_sqlx_migrations" VALUES(3,'calendar refresh','2026-11-28 11:35:09',1,X'CCB5DD5EB5479CD91F6BF7BBDF9342C7CBA0CF81C3C2920061C80A12F07849CA8DEDDBF97C0F733C3241A062230632CF',3518493);
INSERT INTO "_sqlx_migrations" VALUES(4,'codex operations','2026-11-28 11:35:09',1,X'D7FCC9F5B75AF4C928C004926EE9D7BF4DBEBE854ADBD9B342FB246A5A00FE5E08AA0FA67D52B9CC67F0073F4580F8D8',11446409);
INSERT INTO "_sqlx_migrations" VALUES(5,'machines','2026-11-28 11:35:10',1,X'2F9579D3F36998AB79FDDFCB13B4B7AEBA8B21A573526C2AB18E3E2892D217CE5D99E3D79A135D62DB7347DCBF5688EA',11957002);
INSERT INTO "_sqlx_migrations" VALUES(6,'questions of machines','2026-11-28 11:35:10',1,X'C93F1B445C3CB8ACEB3BF73758BB051FB7CCA52B61E23845C60E5018AA3461B1038499D4FBC052F693CC240A56F5BF5B',4012370);
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
, refresh TEXT NOT NULL DEFAULT '');
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
, archived BIGINT NOT NULL DEFAULT 0, parent TEXT NOT NULL DEFAULT '', context BIGINT NOT NULL DEFAULT 0, context_window BIGINT NOT NULL DEFAULT 0, machine TEXT NOT NULL DEFAULT '');
CREATE TABLE codex_turns (
    thread TEXT NOT NULL REFERENCES codex_threads (id) ON DELETE CASCADE,
    turn TEXT NOT NULL,
    -- `completed`, `interrupted`, `failed`; NULL while it runs, and if nobody saw its end.
    ended TEXT,
    failure TEXT,
    started_at BIGINT NOT NULL,
    ended_at BIGINT,
    -- The last heartbeat of the hub that runs the turn. Hubs that share a database end the turns without one.
    heartbeat_at BIGINT, diff TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (thread, turn)
);
CREATE TABLE event_sources (
    event_id TEXT PRIMARY KEY REFERENCES events (id) ON DELETE CASCADE,
    source TEXT NOT NULL
);
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
CREATE TABLE feeds (
    user_id TEXT PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    -- The secret part of the address.
    secret TEXT NOT NULL,
    -- Of the secret. A search compares digests, so that its duration reveals nothing about a secret.
    digest TEXT NOT NULL,
    made_at BIGINT NOT NULL
);
CREATE TABLE machines (
    id TEXT PRIMARY KEY,
    -- The host name, for people.
    name TEXT NOT NULL,
    version TEXT NOT NULL,
    -- The process that recorded it last. Two that run at the same time have a copied home.
    hub TEXT NOT NULL,
    seen_at BIGINT NOT NULL
);
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
CREATE TABLE question_bodies (
    question TEXT PRIMARY KEY REFERENCES questions (id) ON DELETE CASCADE,
    message TEXT NOT NULL,
    -- JSON of the domain: the fields, the timeout, the default.
    form TEXT NOT NULL
);
INSERT INTO "question_bodies" VALUES('pending','50% sure?','{}');
INSERT INTO "question_bodies" VALUES('answered','50% sure?','{}');
CREATE TABLE question_counts (pending BIGINT NOT NULL, changes BIGINT NOT NULL DEFAULT 0);
INSERT INTO "question_counts" VALUES(1,0);
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
INSERT INTO "question_deliveries" VALUES('pending','ann','','','session of ann',1000,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "question_deliveries" VALUES('answered','ann','','','session of ann',1000,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE question_events (
    question TEXT NOT NULL REFERENCES questions (id) ON DELETE CASCADE,
    seq BIGINT NOT NULL,
    at BIGINT NOT NULL,
    kind TEXT NOT NULL,
    who TEXT NOT NULL,
    PRIMARY KEY (question, seq)
);
INSERT INTO "question_events" VALUES('pending',1,1000,'asked','codex');
INSERT INTO "question_events" VALUES('answered',1,1000,'asked','codex');
INSERT INTO "question_events" VALUES('answered',2,2000,'answered','user');
CREATE TABLE question_settings (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
);
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
, machine TEXT NOT NULL DEFAULT '');
INSERT INTO "questions" VALUES('pending',1,'print of pending','ann','codex','/work','Title of pending','normal','pending',NULL,1000,9000,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,'');
INSERT INTO "questions" VALUES('answered',2,'print of answered','ann','codex','/work','Title of answered','normal','decided','answered',1000,9000,NULL,NULL,0,NULL,NULL,NULL,2000,'{"who":"user"}','');
CREATE TABLE rules (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    terms TEXT NOT NULL,
    enabled BIGINT NOT NULL,
    priority BIGINT NOT NULL
);
CREATE TABLE schema_compatibility (oldest BIGINT NOT NULL);
INSERT INTO "schema_compatibility" VALUES(4);
CREATE TABLE task_events (
    task TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    seq BIGINT NOT NULL,
    at BIGINT NOT NULL,
    kind TEXT NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (task, seq)
);
CREATE TABLE task_inputs (
    task TEXT PRIMARY KEY REFERENCES tasks (id) ON DELETE CASCADE,
    text TEXT NOT NULL,
    options TEXT NOT NULL
);
INSERT INTO "task_inputs" VALUES('first','look at first','{}');
INSERT INTO "task_inputs" VALUES('second','look at second','{}');
INSERT INTO "task_inputs" VALUES('third','look at third','{}');
CREATE TABLE task_lanes (
    caller TEXT NOT NULL,
    runner TEXT NOT NULL,
    turn BIGINT NOT NULL,
    PRIMARY KEY (caller, runner)
);
INSERT INTO "task_lanes" VALUES('ann','codex',2);
CREATE TABLE task_results (
    task TEXT PRIMARY KEY REFERENCES tasks (id) ON DELETE CASCADE,
    caller TEXT NOT NULL,
    outcome TEXT NOT NULL,
    delivered_at BIGINT
);
INSERT INTO "task_results" VALUES('second','ann','{"status":"succeeded"}',NULL);
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
, machine TEXT NOT NULL DEFAULT '');
INSERT INTO "tasks" VALUES('first',1,'ann','tester','codex','/work',0,NULL,'first',0,'running',1,1,'hub',3000,NULL,NULL,NULL,1000,2000,NULL,'');
INSERT INTO "tasks" VALUES('second',2,'ann','tester','codex','/work',0,NULL,'second',0,'succeeded',1,1,'hub',NULL,NULL,NULL,NULL,1000,2000,2500,'');
INSERT INTO "tasks" VALUES('third',3,'ann','tester','codex','/work',0,NULL,'third',0,'queued',0,0,NULL,NULL,NULL,NULL,NULL,1000,NULL,NULL,'');
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
CREATE UNIQUE INDEX tasks_seq ON tasks (seq);
CREATE INDEX tasks_root ON tasks (root);
CREATE INDEX tasks_running ON tasks (hub, runner) WHERE state = 'running';
CREATE INDEX task_lanes_turn ON task_lanes (turn);
CREATE INDEX task_results_undelivered ON task_results (caller) WHERE delivered_at IS NULL;
CREATE UNIQUE INDEX questions_seq ON questions (seq);
CREATE INDEX questions_fingerprint ON questions (fingerprint);
CREATE INDEX questions_pending ON questions (seq) WHERE state = 'pending';
CREATE INDEX questions_deadline ON questions (deadline) WHERE state = 'pending';
CREATE INDEX questions_asker ON questions (asker) WHERE state = 'pending';
CREATE INDEX questions_snoozed ON questions (snoozed_until) WHERE state = 'pending';
CREATE INDEX questions_held ON questions (held_until) WHERE state = 'held';
CREATE INDEX questions_decided ON questions (seq) WHERE state = 'decided';
CREATE INDEX question_deliveries_open ON question_deliveries (asker) WHERE delivered_at IS NULL;
CREATE INDEX question_deliveries_stream ON question_deliveries (stream, event) WHERE stream <> '';
CREATE INDEX question_deliveries_session ON question_deliveries (session) WHERE delivered_at IS NULL;
CREATE INDEX question_deliveries_disconnected ON question_deliveries (disconnected_at) WHERE delivered_at IS NULL;
CREATE INDEX question_deliveries_leased ON question_deliveries (lease_until)
    WHERE delivered_at IS NULL AND disconnected_at IS NULL AND silent_at IS NULL;
CREATE UNIQUE INDEX users_email ON users (email);
CREATE UNIQUE INDEX calendars_place ON calendars (user_id, source, place);
CREATE UNIQUE INDEX events_uid ON events (calendar_id, uid, recurrence_id);
CREATE INDEX events_user ON events (user_id, starts_at);
CREATE INDEX events_series ON events (id) WHERE recurs = 1;
CREATE INDEX occurrences_user ON occurrences (user_id, starts_at, event_id);
CREATE INDEX occurrences_start ON occurrences (starts_at, event_id);
CREATE INDEX rules_user ON rules (user_id, priority DESC);
CREATE UNIQUE INDEX plans_current ON plans (event_id, occurrence) WHERE superseded_at IS NULL;
CREATE INDEX plans_user ON plans (user_id);
CREATE INDEX notifications_due ON notifications (try_at) WHERE status = 'planned';
CREATE INDEX notifications_leased ON notifications (lease_until) WHERE status = 'sending';
CREATE INDEX notifications_event ON notifications (event_id, occurrence);
CREATE INDEX notifications_user ON notifications (user_id, due_at);
CREATE INDEX notifications_time ON notifications (due_at);
CREATE INDEX notifications_plan ON notifications (plan_id);
CREATE INDEX audit_at ON audit (at);
CREATE INDEX audit_subject ON audit (subject, at);
CREATE INDEX notifications_urgent ON notifications (updated_at, id)
    WHERE urgency = 'urgent' AND acknowledged_at IS NULL;
CREATE INDEX notifications_merged ON notifications (error) WHERE status = 'merged';
CREATE UNIQUE INDEX feeds_digest ON feeds (digest);
CREATE INDEX codex_threads_updated ON codex_threads (updated_at, id);
CREATE UNIQUE INDEX codex_items_seq ON codex_items (thread, seq);
CREATE INDEX codex_handles_created ON codex_handles (created_at, id);
CREATE INDEX question_deliveries_request ON question_deliveries (stream, request)
    WHERE stream <> '' AND delivered_at IS NULL;
CREATE INDEX questions_default ON questions (seq)
    WHERE state = 'pending' AND default_after IS NOT NULL AND seen_at IS NOT NULL;
CREATE INDEX calendars_refreshed ON calendars (id) WHERE refresh <> '';
CREATE INDEX codex_threads_parent ON codex_threads (parent) WHERE parent <> '';
CREATE INDEX tasks_waiting ON tasks (machine, caller, runner, priority DESC, seq) WHERE state = 'queued';
COMMIT;
