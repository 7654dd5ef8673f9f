-- Turns of Codex that were handed out as tasks of the protocol.

CREATE TABLE codex_handles (
    id TEXT PRIMARY KEY,
    -- Whose it is: the caller's key.
    owner TEXT NOT NULL,
    thread TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    -- While it is open, when its hub last said that it has it.
    updated_at BIGINT NOT NULL,
    -- `completed`, `interrupted`, `failed`, `withdrawn`, `lost`; NULL while it is open.
    ended TEXT,
    said TEXT,
    failure TEXT
);

CREATE INDEX codex_handles_created ON codex_handles (created_at, id);
