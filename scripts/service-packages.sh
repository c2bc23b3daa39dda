#!/usr/bin/env bash
# Lists the packages whose tests use a real PostgreSQL or Redis: tests that read FAIRLEAD_TEST_POSTGRES or FAIRLEAD_TEST_REDIS, and tests
# that import a package which reads them.
set -euo pipefail
cd "$(dirname "$0")/.."

directories() { xargs -r -n 1 dirname | sort -u; }

{
	mapfile -t readers < <(grep -rlE 'FAIRLEAD_TEST_(POSTGRES|REDIS)' --include='*.go' internal || true)
	for reader in ${readers[@]+"${readers[@]}"}; do
		case "$reader" in
		*_test.go) dirname "$reader" ;;
		*) grep -rl "\"fairlead.dev/$(dirname "$reader")\"" --include='*_test.go' internal | directories || true ;;
		esac
	done
} | sort -u | sed 's|^|fairlead.dev/|'
