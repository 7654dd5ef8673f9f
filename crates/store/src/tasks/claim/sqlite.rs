//! The claim on SQLite, where the writers of all processes take turns.

/// The lanes are read in the order of their turns, which make callers equal, up to the first one with a task; `CROSS JOIN`
/// keeps them first. The head of each lane is a seek in an index.
pub(super) const CLAIM: &str = "\
    UPDATE tasks SET state = 'running', attempt = 1, fence = fence + 1, hub = $1, lease_until = $2, started_at = $3 \
    WHERE state = 'queued' AND id = ( \
        SELECT q.id FROM task_lanes l CROSS JOIN (VALUES \
            ($5, $6), ($7, $8), ($9, $10), ($11, $12), ($13, $14), ($15, $16), ($17, $18), ($19, $20), ($21, $22), \
            ($23, $24), ($25, $26), ($27, $28), ($29, $30), ($31, $32), ($33, $34), ($35, $36)) AS slots \
        JOIN tasks q ON q.id = (SELECT head.id FROM tasks head \
            WHERE head.state = 'queued' AND head.machine = $37 \
              AND head.caller = l.caller AND head.runner = l.runner \
            ORDER BY head.priority DESC, head.seq LIMIT 1) \
        WHERE slots.column1 = l.runner \
          AND (SELECT COUNT(*) FROM tasks r WHERE r.state = 'running' AND r.hub = $1) < $4 \
          AND (SELECT COUNT(*) FROM tasks r WHERE r.state = 'running' AND r.hub = $1 \
               AND r.runner = slots.column1) < slots.column2 \
        ORDER BY l.turn, l.caller, q.priority DESC, q.seq LIMIT 1) \
    RETURNING id, caller";

pub(super) const TURN: &str = "\
    UPDATE task_lanes SET turn = (SELECT MAX(turn) FROM task_lanes) + 1 WHERE caller = $1";
