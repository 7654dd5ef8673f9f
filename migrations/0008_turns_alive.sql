-- A turn of Codex that runs is its hub's. Where several hubs share a database, each says now and then which turns it has,
-- and the others end those that nobody speaks of any more.

ALTER TABLE codex_turns ADD COLUMN alive_at BIGINT;
