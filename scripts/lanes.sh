#!/usr/bin/env bash
# lanes.sh LANE...: makes targets beside each other. A lane is a text of targets, which are made one after another. What a target prints
# is shown whole when it ends. Nothing new is begun after a failure.
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

# Every lane is a group of processes, so that it ends with all that it has started.
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
