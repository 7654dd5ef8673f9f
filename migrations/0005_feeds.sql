-- Where a person's other calendar programs read what is here.

CREATE TABLE feeds (
    user_id TEXT PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    -- The secret part of the address.
    secret TEXT NOT NULL,
    -- Of the secret. It is looked for by this, so that how long a search takes tells nothing about a secret.
    digest TEXT NOT NULL,
    made_at BIGINT NOT NULL
);

CREATE UNIQUE INDEX feeds_digest ON feeds (digest);

-- What waits for its acknowledgement, and what was told with something else, are looked for with every send.
CREATE INDEX notifications_urgent ON notifications (updated_at, id)
    WHERE urgency = 'urgent' AND acknowledged_at IS NULL;
CREATE INDEX notifications_merged ON notifications (error) WHERE status = 'merged';
