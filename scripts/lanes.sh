#!/usr/bin/env bash
# lanes.sh WORKERS GROUP...: runs groups of make targets. A group is one argument with a list of targets that run in sequence. WORKERS groups
# run in parallel, and the next group starts when one has ended. A group with the prefix + starts immediately and needs no worker: it
# downloads. A group with the prefix - has low priority: it uses the CPU time that other groups leave. The output of a target is printed
# when the target ends, after its time: elapsed, and CPU of the programs it waited for. After a failure no further target is started.
set -uo pipefail
cd "$(dirname "$0")/.."
TIMEFORMAT='%0R s, CPU %0U s + %0S s'

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# run executes the targets of a group.
run() {
	local target priority=0
	[ "${1#-}" = "$1" ] || priority=19
	for target in ${1#-}; do
		[ ! -e "$dir/failed" ] || return
		{ time nice -n "$priority" make --no-print-directory "$target" >"$dir/$target" 2>&1 </dev/null; } 2>"$dir/$target.time" || echo "$target" >>"$dir/failed"
		until mkdir "$dir/printing" 2>/dev/null; do sleep 0.1; done
		echo "== $target: $(cat "$dir/$target.time")"
		cat "$dir/$target"
		rmdir "$dir/printing"
	done
}

# work runs every group that no other worker has taken.
work() {
	local number=0 group
	for group in "$@"; do
		number=$((number + 1))
		if [ "${group#+}" = "$group" ] && mkdir "$dir/group$number" 2>/dev/null; then
			run "$group"
		fi
	done
}

# Each worker is its own process group, so that killing it also ends its children.
set -m
workers=()
for group in "${@:2}"; do
	if [ "${group#+}" != "$group" ]; then
		run "${group#+}" &
		workers+=("-$!")
	fi
done
for ((i = 0; i < $1; i++)); do
	work "${@:2}" &
	workers+=("-$!")
done
trap 'kill -- "${workers[@]}" 2>/dev/null; exit 130' INT TERM
wait

if [ -e "$dir/failed" ]; then
	echo "error: failed: $(xargs <"$dir/failed")" >&2
	exit 1
fi
