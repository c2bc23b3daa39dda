#!/usr/bin/env bash
# lanes.sh LANE...: runs make targets in parallel. A lane is one argument with a list of targets that run in sequence. The output of a
# target is printed when the target ends. After a failure no further target is started.
set -uo pipefail
cd "$(dirname "$0")/.."

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

lane() {
	local target began
	for target in $1; do
		[ ! -e "$dir/failed" ] || return
		began=$SECONDS
		make --no-print-directory "$target" >"$dir/$target" 2>&1 </dev/null || echo "$target" >>"$dir/failed"
		until mkdir "$dir/printing" 2>/dev/null; do sleep 0.1; done
		echo "== $target: $((SECONDS - began)) s"
		cat "$dir/$target"
		rmdir "$dir/printing"
	done
}

# Each lane is its own process group, so that killing it also ends its children.
set -m
lanes=()
for targets in "$@"; do
	lane "$targets" &
	lanes+=("-$!")
done
trap 'kill -- "${lanes[@]}" 2>/dev/null; exit 130' INT TERM
wait

if [ -e "$dir/failed" ]; then
	echo "error: failed: $(xargs <"$dir/failed")" >&2
	exit 1
fi
