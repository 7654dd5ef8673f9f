-- A client without a connection cannot be seen to end. What it asked is leased: until when it is expected to ask again,
-- and since when it has been silent beyond that. Both empty for one whose end is noticed.

ALTER TABLE question_deliveries ADD COLUMN waits_until BIGINT;
ALTER TABLE question_deliveries ADD COLUMN silent_at BIGINT;

CREATE INDEX question_deliveries_leased ON question_deliveries (waits_until)
    WHERE delivered_at IS NULL AND gone_at IS NULL AND silent_at IS NULL;
