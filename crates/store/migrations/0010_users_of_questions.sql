-- Users who log in to the console, and questions for one of them. A version before this one ignores both: it shows every
-- question to its only user.

CREATE TABLE user_logins (
    user_id TEXT PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    role TEXT NOT NULL,
    -- The argon2id verifier of the password.
    password TEXT NOT NULL,
    -- Grows with every change, which ends the logins before it.
    generation BIGINT NOT NULL,
    changed_at BIGINT NOT NULL
);

-- The user or `@group` that a question is for; empty for all.
ALTER TABLE questions ADD COLUMN addressee TEXT NOT NULL DEFAULT '';
