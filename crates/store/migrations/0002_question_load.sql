-- The work of one question, for any number of others that are pending.

-- The number of pending questions, kept by every change of their state, because counting them reads them all.
CREATE TABLE question_counts (pending BIGINT NOT NULL);

INSERT INTO question_counts (pending) SELECT COUNT(*) FROM questions WHERE state = 'pending';

CREATE INDEX question_deliveries_request ON question_deliveries (stream, request)
    WHERE stream <> '' AND delivered_at IS NULL;

-- A default counts for a question that was seen.
DROP INDEX questions_default;

CREATE INDEX questions_default ON questions (seq)
    WHERE state = 'pending' AND default_after IS NOT NULL AND seen_at IS NOT NULL;
