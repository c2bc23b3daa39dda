#!/usr/bin/env bash
# unit-tests.sh PACKAGES...: runs package tests. Packages that start goroutines or use locks, also in their tests only, run with the
# race detector. In the others it would find nothing, and it takes most of the time.
set -euo pipefail
cd "$(dirname "$0")/.."

race=() plain=()
for package in "$@"; do
	if grep -qsE '"sync(/atomic)?"|\bgo (func|[a-z]+[.(])|\.Go\(' "${package#fairlead/}"/*.go; then
		race+=("$package")
	else
		plain+=("$package")
	fi
done
[ ${#plain[@]} = 0 ] || go test -timeout 20m "${plain[@]}"
[ ${#race[@]} = 0 ] || scripts/race-test.sh "${race[@]}"
