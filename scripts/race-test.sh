#!/usr/bin/env bash
# race-test.sh PACKAGES...: tests them with the race detector. More flags of go test may follow.
set -euo pipefail
cd "$(dirname "$0")/.."

# SQLite is C turned into Go, with memory of its own: the detector finds nothing in it and makes it six times slower. The driver above it
# is watched like all else.
exec env CGO_ENABLED=1 go test -race -gcflags=modernc.org/sqlite/lib=-race=false -timeout 10m "$@"
