-- 1 while Codex has the thread among its archived ones.
ALTER TABLE codex_threads ADD COLUMN archived BIGINT NOT NULL DEFAULT 0;
-- The thread whose agent works in this one; empty for a thread of the user.
ALTER TABLE codex_threads ADD COLUMN parent TEXT NOT NULL DEFAULT '';
-- Tokens in the context of the model, and how many fit; 0 if that is unknown.
ALTER TABLE codex_threads ADD COLUMN context BIGINT NOT NULL DEFAULT 0;
ALTER TABLE codex_threads ADD COLUMN context_window BIGINT NOT NULL DEFAULT 0;
-- The changes of the turn, as one diff.
ALTER TABLE codex_turns ADD COLUMN diff TEXT NOT NULL DEFAULT '';
CREATE INDEX codex_threads_parent ON codex_threads (parent) WHERE parent <> '';
