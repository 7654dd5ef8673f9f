#!/bin/sh
# A runner of a worker: cluster_runner.sh STARTS PROMPT. The task is "KEY MODE SECONDS". STARTS gets a line for each start,
# which is the effect that nobody may see twice.
starts=$1
set -- ${2##*Task: }
key=$1 mode=$2 seconds=$3
echo "$key $$" >>"$starts"
case $mode in
slow) sleep "$seconds" ;;
touch) echo "made by $key" >"made-$key" ;;
fail)
    echo "broken" >&2
    exit 3
    ;;
esac
echo "result $key"
