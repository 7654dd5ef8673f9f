-- Machines that share the database. A task, its folder and its output are on one of them.

-- The id that a hub's home keeps. Empty where one machine has the database, and in rows of an earlier version.
ALTER TABLE tasks ADD COLUMN machine TEXT NOT NULL DEFAULT '';
ALTER TABLE codex_threads ADD COLUMN machine TEXT NOT NULL DEFAULT '';

DROP INDEX tasks_waiting;

CREATE INDEX tasks_waiting ON tasks (machine, caller, runner, priority DESC, seq) WHERE state = 'queued';

CREATE TABLE machines (
    id TEXT PRIMARY KEY,
    -- The host name, for people.
    name TEXT NOT NULL,
    version TEXT NOT NULL,
    -- The process that recorded it last. Two that run at the same time have a copied home.
    hub TEXT NOT NULL,
    seen_at BIGINT NOT NULL
);
