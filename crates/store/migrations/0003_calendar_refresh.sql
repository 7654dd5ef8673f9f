-- How a hub reads a calendar again, as JSON; empty if it does not.
ALTER TABLE calendars ADD COLUMN refresh TEXT NOT NULL DEFAULT '';
CREATE INDEX calendars_refreshed ON calendars (id) WHERE refresh <> '';
