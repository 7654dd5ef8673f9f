//! The claim on PostgreSQL, where hubs claim at the same time: each skips the rows that another hub has locked.

/// Lanes are read in the order of their turns, without locks; then the first lane with a task that no other hub has
/// locked gives it. Each head is a seek in an index, for this machine's tasks and for those without a machine, which an
/// earlier version queued. The limit of the lanes, more than hubs claim at the same time, lets the planner read them in the
/// order of the index and end at the first ones; without it all heads of all callers are read and sorted. The order of the
/// last subquery is that of its index, which the planner would not use else for a machine that has no task.
pub(super) const CLAIM: &str = "\
    UPDATE tasks SET state = 'running', attempt = 1, fence = fence + 1, hub = $1, lease_until = $2, started_at = $3 \
    WHERE id = ( \
        SELECT q.id FROM ( \
            SELECT l.caller, l.runner, machines.column1 AS machine FROM task_lanes l \
            JOIN (VALUES \
                (CAST($5 AS TEXT), CAST($6 AS BIGINT)), ($7, $8), ($9, $10), ($11, $12), ($13, $14), ($15, $16), \
                ($17, $18), ($19, $20), ($21, $22), ($23, $24), ($25, $26), ($27, $28), ($29, $30), ($31, $32), \
                ($33, $34), ($35, $36)) AS slots ON l.runner = slots.column1 \
            CROSS JOIN (VALUES (CAST($37 AS TEXT)), ('')) AS machines \
            CROSS JOIN LATERAL (SELECT t.priority, t.seq FROM tasks t \
                WHERE t.state = 'queued' AND t.machine = machines.column1 \
                  AND t.caller = l.caller AND t.runner = l.runner \
                ORDER BY t.priority DESC, t.seq LIMIT 1) AS head \
            WHERE (SELECT COUNT(*) FROM tasks r WHERE r.state = 'running' AND r.hub = $1) < CAST($4 AS BIGINT) \
              AND (SELECT COUNT(*) FROM tasks r WHERE r.state = 'running' AND r.hub = $1 \
                   AND r.runner = slots.column1) < slots.column2 \
              AND (SELECT t.seq FROM tasks t WHERE t.state = 'queued' AND t.machine = machines.column1 \
                   ORDER BY t.caller, t.runner, t.priority DESC, t.seq LIMIT 1) IS NOT NULL \
            ORDER BY l.turn, l.caller, head.priority DESC, head.seq LIMIT 32) AS lanes \
        CROSS JOIN LATERAL (SELECT t.id FROM tasks t \
            WHERE t.state = 'queued' AND t.machine = lanes.machine \
              AND t.caller = lanes.caller AND t.runner = lanes.runner \
            ORDER BY t.priority DESC, t.seq LIMIT 1 FOR UPDATE SKIP LOCKED) AS q \
        LIMIT 1) \
    RETURNING id, caller";

/// A lane that another hub moves at this moment is skipped, because that hub gives it a late turn too.
pub(super) const TURN: &str = "\
    UPDATE task_lanes SET turn = (SELECT MAX(turn) FROM task_lanes) + 1 WHERE (caller, runner) IN \
        (SELECT caller, runner FROM task_lanes WHERE caller = $1 FOR UPDATE SKIP LOCKED)";
