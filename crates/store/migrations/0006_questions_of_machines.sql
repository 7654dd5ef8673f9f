-- Questions of several machines in one database.

-- The machine of the client that asked, as in `tasks`.
ALTER TABLE questions ADD COLUMN machine TEXT NOT NULL DEFAULT '';

-- Grows with every change of a question or of the settings, so that each hub notices what the others change.
ALTER TABLE question_counts ADD COLUMN changes BIGINT NOT NULL DEFAULT 0;

-- The newest migration that a version must know to use the tables. A migration that the version before it does not
-- survive raises the number to its own.
CREATE TABLE schema_compatibility (oldest BIGINT NOT NULL);
INSERT INTO schema_compatibility (oldest) VALUES (4);
