-- Questions for the person. TEXT and BIGINT only, so that SQLite and PostgreSQL read the same text and give the same
-- values. This file is never edited once it is released: its checksum stands in every database. Add another one.

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
    -- `held`: answered, and the answer may still be taken back.
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
    -- JSON of the room's own, from `held` on.
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

-- What never changes stands apart: a row that changes is written anew as a whole.
CREATE TABLE question_bodies (
    question TEXT PRIMARY KEY REFERENCES questions (id) ON DELETE CASCADE,
    message TEXT NOT NULL,
    -- JSON of the room's own: the fields, the timeout, the default.
    form TEXT NOT NULL
);

-- Who gets the outcome: one row for each asker, and for each request where an answer needs the request's own id.
CREATE TABLE question_deliveries (
    question TEXT NOT NULL REFERENCES questions (id) ON DELETE CASCADE,
    asker TEXT NOT NULL,
    -- The event stream that the answer goes to, and the id of the request, as JSON; both empty for a tool's call.
    stream TEXT NOT NULL,
    request TEXT NOT NULL,
    session TEXT NOT NULL,
    asked_at BIGINT NOT NULL,
    gone_at BIGINT,
    delivered_at BIGINT,
    -- The number of the event that carries it.
    event BIGINT,
    PRIMARY KEY (question, asker, stream, request)
);

CREATE INDEX question_deliveries_open ON question_deliveries (asker) WHERE delivered_at IS NULL;
CREATE INDEX question_deliveries_stream ON question_deliveries (stream, event) WHERE stream <> '';
CREATE INDEX question_deliveries_session ON question_deliveries (session) WHERE delivered_at IS NULL;
CREATE INDEX question_deliveries_gone ON question_deliveries (gone_at) WHERE delivered_at IS NULL;

CREATE TABLE question_events (
    question TEXT NOT NULL REFERENCES questions (id) ON DELETE CASCADE,
    seq BIGINT NOT NULL,
    at BIGINT NOT NULL,
    kind TEXT NOT NULL,
    who TEXT NOT NULL,
    PRIMARY KEY (question, seq)
);

-- What the person set for the desk as a whole.
CREATE TABLE desk (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
);
