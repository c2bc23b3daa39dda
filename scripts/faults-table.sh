#!/usr/bin/env bash
# Copies the results of the last `make faults` into docs/reliability.md, between its two markers.
set -euo pipefail
cd "$(dirname "$0")/.."

table=test-results/faults.md
page=docs/reliability.md
if [ ! -f "$table" ]; then
	echo "error: $table does not exist; run make faults first" >&2
	exit 1
fi
awk -v table="$table" '
	/^<!-- end of figures -->$/ { inside = 0 }
	!inside { print }
	/^<!-- figures: / { inside = 1; while ((getline line < table) > 0) print line }
' "$page" >"$page.next"
mv "$page.next" "$page"
