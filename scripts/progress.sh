#!/usr/bin/env bash
# progress.sh WHAT DURATION COMMAND...: runs a build command whose output matters only after a failure. A terminal shows what is built,
# how long it usually takes and the seconds so far.
set -uo pipefail

what=$1 usual=$2
shift 2
log=$(mktemp)
trap 'rm -f "$log"' EXIT

"$@" >"$log" 2>&1 &
pid=$!
trap 'kill "$pid" 2>/dev/null; exit 130' INT TERM
SECONDS=0
said=
while kill -0 "$pid" 2>/dev/null; do
	if [ "$SECONDS" -ge 2 ]; then
		if [ -t 1 ]; then
			printf '\rbuilding %s (the first time takes about %s): %d s' "$what" "$usual" "$SECONDS"
		elif [ -z "$said" ]; then
			printf 'building %s (the first time takes about %s)' "$what" "$usual"
		fi
		said=yes
	fi
	sleep 0.2
done
wait "$pid"
status=$?
if [ -t 1 ]; then
	[ -z "$said" ] || echo
elif [ -n "$said" ]; then
	echo ": $SECONDS s"
fi
if [ "$status" -ne 0 ]; then
	cat "$log" >&2
fi
exit "$status"
