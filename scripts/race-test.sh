#!/usr/bin/env bash
# race-test.sh PACKAGES...: runs go test with the race detector. Further go test flags may follow.
set -euo pipefail
cd "$(dirname "$0")/.."

# modernc.org/sqlite/lib is C code translated to Go that manages its own memory. Instrumenting it would take most of the test time, so it
# is excluded; the driver above it is instrumented.
exec env CGO_ENABLED=1 go test -race -gcflags=all=-dwarf=false -gcflags='modernc.org/sqlite/lib=-race=false -dwarf=false' -timeout 20m "$@"
