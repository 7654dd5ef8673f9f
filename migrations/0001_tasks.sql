-- Delegated tasks. TEXT and BIGINT only, so that SQLite and PostgreSQL read the same text and give the same values.
-- This file is never edited once it is released: its checksum stands in every database. Add another one.

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

-- What never changes stands apart: a row that changes is written anew as a whole, and a task may be a megabyte.
CREATE TABLE task_inputs (
    task TEXT PRIMARY KEY REFERENCES tasks (id) ON DELETE CASCADE,
    text TEXT NOT NULL,
    options TEXT NOT NULL
);

-- Whose turn it is: one row for each caller and runner that had something waiting. The caller with the lowest turn
-- is next; a claim puts it behind everybody.
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
