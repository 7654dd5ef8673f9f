-- The rows of the start page in their order, so that none is sorted and none is read that the page does not show.
DROP INDEX tasks_created;
DROP INDEX tasks_ended;

CREATE INDEX tasks_created ON tasks (created_at, id);
CREATE INDEX tasks_ended ON tasks (ended_at, id) WHERE ended_at IS NOT NULL;
CREATE INDEX tasks_unended ON tasks (seq) WHERE state IN ('queued', 'running');
CREATE INDEX questions_asked ON questions (asked_at, id);
CREATE INDEX questions_decided_at ON questions (decided_at, id) WHERE state = 'decided';
