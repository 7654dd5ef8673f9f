-- Workers on other machines, as their reports and the user's commands have them.
CREATE TABLE workers (
    -- The public key of a worker with credentials; else the id that the worker's home keeps.
    id TEXT PRIMARY KEY,
    -- The host name, for people.
    name TEXT NOT NULL,
    -- Of the program, and of the protocol; empty and 0 before the first report.
    version TEXT NOT NULL,
    protocol BIGINT NOT NULL,
    -- Separated by spaces.
    runners TEXT NOT NULL,
    labels TEXT NOT NULL,
    max_tasks BIGINT NOT NULL,
    -- NULL for a worker without credentials.
    joined_at BIGINT,
    -- The end of the credentials.
    expires_at BIGINT,
    seen_at BIGINT NOT NULL,
    draining BIGINT NOT NULL DEFAULT 0,
    revoked_at BIGINT
);

-- One-time codes by which workers join.
CREATE TABLE worker_invitations (
    -- The public key of the code.
    id TEXT PRIMARY KEY,
    labels TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    -- The worker that used it.
    worker TEXT
);
