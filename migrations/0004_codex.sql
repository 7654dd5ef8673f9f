-- Codex sessions. TEXT and BIGINT only, as in the files before this one; never edited once it is released.

CREATE TABLE codex_threads (
    id TEXT PRIMARY KEY,
    back TEXT NOT NULL,
    version TEXT NOT NULL,
    cwd TEXT NOT NULL,
    model TEXT NOT NULL,
    -- The beginning of the first prompt.
    title TEXT NOT NULL,
    -- What it was started with, as JSON.
    settings TEXT NOT NULL,
    tokens BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);

CREATE INDEX codex_threads_updated ON codex_threads (updated_at, id);

CREATE TABLE codex_turns (
    thread TEXT NOT NULL REFERENCES codex_threads (id) ON DELETE CASCADE,
    turn TEXT NOT NULL,
    -- `completed`, `interrupted`, `failed`; NULL while it runs, and for one whose end nobody saw.
    ended TEXT,
    failure TEXT,
    started_at BIGINT NOT NULL,
    ended_at BIGINT,
    PRIMARY KEY (thread, turn)
);

CREATE TABLE codex_items (
    thread TEXT NOT NULL REFERENCES codex_threads (id) ON DELETE CASCADE,
    -- In the order in which items ended.
    seq BIGINT NOT NULL,
    id TEXT NOT NULL,
    turn TEXT NOT NULL,
    kind TEXT NOT NULL,
    -- What a search looks through.
    text TEXT NOT NULL,
    -- The whole item as JSON.
    body TEXT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (thread, id)
);

CREATE UNIQUE INDEX codex_items_seq ON codex_items (thread, seq);
