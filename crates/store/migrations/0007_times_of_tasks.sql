-- The newest entries of the timeline, which the start page shows, without sorting every task.
CREATE INDEX tasks_created ON tasks (created_at);

CREATE INDEX tasks_ended ON tasks (ended_at) WHERE ended_at IS NOT NULL;
