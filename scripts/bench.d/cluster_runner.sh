#!/bin/sh
# The runner of the figures of several machines: cluster_runner.sh STARTS GATE PROMPT. The task is "MODE KEY". STARTS and GATE
# are named pipes: the first gets a line for each start, and a line of the second ends a run in mode `wait`.
starts=$1 gate=$2
set -- ${3##*Task: }
case $1 in
mark) echo "$2 $$" >"$starts" ;;
wait) echo "$2 $$" >"$starts"; read -r _ <"$gate" ;;
report)
    # A report of the usual size: a message, and a file that changed.
    seq -f "%g: the quick brown fox jumps over the lazy dog" 80 >"made-$2"
    seq -f "Step %g is done, and its test passes." 40
    ;;
sleep) echo "$2 $$" >"$starts"; exec sleep 600 ;;
esac
echo "result $2"
