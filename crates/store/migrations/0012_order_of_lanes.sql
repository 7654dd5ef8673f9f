-- The lanes in the order of their turns, and those of a caller together, so that a claim ends at the first lane with a task.
DROP INDEX task_lanes_turn;

CREATE INDEX task_lanes_next ON task_lanes (turn, caller);
