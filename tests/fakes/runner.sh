#!/bin/sh
# A runner that behaves, and misbehaves, on order: the mode is $FAKE_MODE, else the first argument.
mode=${FAKE_MODE:-$1}
[ -n "${FAKE_MODE:-}" ] || shift

# Ends by a signal only. A shell that is about to start a child may miss one.
wait_for_ever() {
    while :; do sleep 300; done
}

case $mode in
ok)                 # Writes a result.
    echo "working"
    echo "complaint" >&2
    echo "result"
    ;;
leak)               # Ends well, and leaves a child that holds stdout and stderr.
    sleep 300 &
    echo "result"
    ;;
hang)               # Never ends; children hold the pipes.
    echo "working"
    sleep 300 &
    wait_for_ever
    ;;
slow)               # Works on, and ends at the first signal.
    echo "working"
    exec sleep 300
    ;;
silent)             # Never ends and never writes.
    wait_for_ever
    ;;
drip)               # A line every so often ($1 seconds), for ever.
    while :; do echo "drip"; sleep "$1"; done
    ;;
ignore-term)        # Does not want to end.
    trap '' INT TERM HUP
    sh -c "trap '' INT TERM HUP; sleep 300; sleep 300" &
    echo "working"
    wait_for_ever
    ;;
double-fork)        # Leaves a daemon in a session of its own that ignores signals, then ends or stays ($1).
    ( setsid sh -c "trap '' INT TERM HUP; (setsid sleep 300 &); sleep 300; sleep 300" & )
    echo "result"
    [ "${1:-end}" = end ] || wait_for_ever
    ;;
bomb)               # Many generations, each in a group of its own: $1 deep, two children each.
    deep=$1
    if [ "$deep" -gt 0 ]; then
        setsid sh "$0" bomb $((deep - 1)) &
        setsid sh "$0" bomb $((deep - 1)) &
    fi
    trap '' INT TERM
    echo "planted"
    wait_for_ever
    ;;
hop)                # A chain of $1 processes, each in a session of its own, that starts the next one and ends.
    [ "$1" -gt 0 ] || exit 0
    [ "$2" != first ] || echo "planted"
    setsid sh "$0" hop $(($1 - 1)) >/dev/null 2>&1 &
    [ "$2" != first ] || wait_for_ever
    ;;
flood)              # $1 MB of lines, then a result.
    head -c "${1}000000" /dev/zero | tr '\0' 'x' | fold -w 99
    echo
    echo "result"
    ;;
long-line)          # One line of $1 MB, then a result.
    head -c "${1}000000" /dev/zero | tr '\0' 'x'
    echo
    echo "result"
    ;;
invalid-utf8)
    printf 'caf\351 \377\376 \342\202\n\342\202\254\n'
    ;;
ansi)
    printf '\033[31mred\033[0m \033]0;title\007\r\nresult\n'
    ;;
no-newline)         # The last line has no end.
    printf 'first\nlast'
    ;;
read-stdin)         # Counts what stdin holds up to its end.
    echo "$(wc -c | tr -d ' ') bytes"
    ;;
echo-stdin)
    cat
    ;;
close-stdin)        # Ends before stdin is read.
    echo "result"
    ;;
burst)              # Fills its pipes before it reads stdin.
    head -c 300000 /dev/zero | tr '\0' 'x'
    head -c 300000 /dev/zero | tr '\0' 'y' >&2
    echo
    echo "$(wc -c | tr -d ' ') bytes"
    ;;
usage-limit)
    echo "ERROR: You've hit your usage limit. Try again later." >&2
    exit 1
    ;;
auth)
    echo "ERROR: 401 Unauthorized, please log in" >&2
    exit 1
    ;;
empty)              # Ends well without a word.
    ;;
crash)
    echo "working"
    kill -SEGV $$
    ;;
fail-after-result)
    echo "result"
    exit 3
    ;;
arguments)          # Shows each argument in brackets, byte for byte.
    for argument; do printf '[%s]\n' "$argument"; done
    ;;
answer-json)        # A value in the shape that was asked for, once it is told that its last answer had none.
    if grep -q 'Your last answer'; then echo '{"n": 1}'; else echo "one"; fi
    ;;
touch)              # Makes a file where it works.
    echo "made" >"$1"
    echo "result"
    ;;
script)             # Does what a file says.
    sh "$1"
    echo "result"
    ;;
until-file)         # Ends when all these files are there.
    echo "working"
    for file; do
        while [ ! -e "$file" ]; do sleep 0.05; done
    done
    echo "result"
    ;;
note-signal)        # Makes a file ($1) at the first signal, and ends.
    trap ': >"$1"; exit 1' INT TERM HUP
    echo "working"
    while :; do sleep 0.01; done
    ;;
ask-the-hub)        # Is a client of the hub itself, without a variable that tells whose process it is: $1 is the program,
                    # $2 the file with its messages.
    env -i HOME="$HOME" PATH="$PATH" "$1" connect agents --no-start <"$2"
    ;;
environment)
    env | sort
    ;;
post)               # Sends a file ($2) as a request to the hub on port $1, and shows the answer.
    exec bash -c '
        exec 3<>"/dev/tcp/127.0.0.1/$0"
        head="POST /mcp/agents HTTP/1.1\r\nhost: 127.0.0.1:%s\r\ncontent-type: application/json\r\n"
        printf "${head}connection: close\r\ncontent-length: %s\r\n\r\n" "$0" "$(wc -c <"$1")" >&3
        cat "$1" >&3
        cat <&3' "$@"
    ;;
where)
    pwd -P
    ;;
*)
    echo "unknown mode $mode" >&2
    exit 64
    ;;
esac
