-- Files that a user added to an answer.

-- Apart from the outcome, because only the client that asked reads the contents.
CREATE TABLE answer_files (
    question TEXT NOT NULL REFERENCES questions (id) ON DELETE CASCADE,
    number BIGINT NOT NULL,
    -- The bytes as base64.
    contents TEXT NOT NULL,
    PRIMARY KEY (question, number)
);
