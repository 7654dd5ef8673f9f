#!/bin/sh
# A runner that leaves, floods, hangs and dies on order: tasks_runner.sh STARTS PROMPT
#
# The task is "KEY MODE MARK SECONDS". STARTS gets a line for each start. MARK is a number that is in the arguments of every
# process that this makes, because an environment can be dropped.
starts=$1
set -- ${2##*Task: }
key=$1 mode=$2 mark=$3 seconds=$4
echo "$key ${ADJUTANT_TASK:-none} $$" >>"$starts"

# Ends by a signal only.
for_ever() {
    while :; do sleep "$mark"; done
}

case $mode in
ok) ;;
slow)
    sh -c 'sleep "$1"' "$mark" "$seconds"
    ;;
fail)
    echo "broken" >&2
    exit 3
    ;;
crash)
    sleep "$mark" &
    kill -SEGV $$
    ;;
orphan)             # Two daemons without the variables of the run, each in a session of its own; both hold the pipes.
    env -i setsid sleep "$mark" &
    ( env -i setsid sh -c "trap '' INT TERM HUP; sleep $mark; sleep $mark" & )
    ;;
daemon)             # As a daemon starts itself: fork, session, fork; it ignores signals and closes nothing.
    ( setsid sh -c "trap '' INT TERM HUP; (setsid sleep $mark &); sleep $mark; sleep $mark" & )
    ;;
bomb)               # Generations that start while the first ones are ended.
    sh -c 'trap "" INT TERM; i=0; while [ $i -lt 40 ]; do setsid sleep "$0" & i=$((i + 1)); done; sleep "$0"' "$mark" &
    ;;
flood)
    sleep "$mark" &
    head -c 8000000 /dev/zero | tr '\0' x | fold -w 999
    echo
    ;;
stubborn)           # It ends by SIGKILL only, and so does its child.
    trap '' INT TERM HUP
    env -i setsid sh -c "trap '' INT TERM HUP; sleep $mark; sleep $mark" &
    echo "working"
    for_ever
    ;;
hang)
    for_ever
    ;;
stopped)
    sleep "$mark" &
    kill -STOP $! $$
    ;;
touch)
    echo "made by $key" >"made-$key"
    ;;
loot)               # Removes the repository that it works in, but not the files.
    echo "made by $key" >"made-$key"
    rm -rf .git
    ;;
esac
echo "result $key"
