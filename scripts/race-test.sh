#!/usr/bin/env bash
# race-test.sh PACKAGES...: tests them with the race detector. More flags of go test may follow.
set -euo pipefail
cd "$(dirname "$0")/.."

# SQLite is C turned into Go, with memory of its own, and is as it comes: under the detector it would be most of the time that these
# tests take. The driver above it is watched like all else.
exec env CGO_ENABLED=1 go test -race -gcflags=all=-dwarf=false -gcflags='modernc.org/sqlite/lib=-race=false -dwarf=false' -timeout 10m "$@"
