#!/usr/bin/env bash
# Lists the packages whose tests use a real PostgreSQL or Redis: those that read FAIRLEAD_TEST_POSTGRES or
# FAIRLEAD_TEST_REDIS, and those whose tests import one of these.
set -euo pipefail
cd "$(dirname "$0")/.."

directories() { xargs -r -n 1 dirname | sort -u; }

mapfile -t readers < <(grep -rlE 'FAIRLEAD_TEST_(POSTGRES|REDIS)' --include='*.go' internal | directories || true)
{
	for reader in ${readers[@]+"${readers[@]}"}; do
		if compgen -G "$reader/*_test.go" >/dev/null; then
			echo "$reader"
		fi
		grep -rl "\"fairlead.dev/$reader\"" --include='*_test.go' internal | directories || true
	done
} | sort -u | sed 's|^|fairlead.dev/|'
