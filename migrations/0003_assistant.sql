-- Users, their calendars, and what they are told when. TEXT and BIGINT only; instants are epoch milliseconds.
-- What no question asks for stands as JSON in one column; what is asked for has a column and an index.

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
    -- What the server said last, so that only changes are read.
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
    -- Of all that a plan depends on.
    digest TEXT NOT NULL,
    -- The server's name of this version, where there is a server.
    etag TEXT,
    updated_at BIGINT NOT NULL
);

CREATE UNIQUE INDEX events_uid ON events (calendar_id, uid, recurrence_id);
CREATE INDEX events_user ON events (user_id, starts_at);
CREATE INDEX events_series ON events (id) WHERE recurs = 1;

-- The component as it came, for a lossless export. A row that changes is written anew as a whole, so it stands apart.
CREATE TABLE event_sources (
    event_id TEXT PRIMARY KEY REFERENCES events (id) ON DELETE CASCADE,
    source TEXT NOT NULL
);

-- When events happen, within a horizon that moves on with time.
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
    -- Why, step by step.
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
