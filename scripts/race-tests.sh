#!/usr/bin/env bash
# Runs the tests of the packages that start goroutines, lock or use atomic values with the race detector. In the other packages it finds
# little. Long computations take up to twenty times as long with it: their tests skip themselves in short mode.
set -euo pipefail
cd "$(dirname "$0")/.."

mapfile -t packages < <(grep -rlE '\bgo (func|[a-z]+[.(])|\.Go\(|sync\.(RW)?Mutex|sync\.Map|\batomic\.[A-Z]' --include='*.go' --exclude='*_test.go' \
	cmd internal | xargs -n 1 dirname | sort -u | sed 's|^|./|')
# Not instrumented, because it would take most of the time: C code of SQLite, translated to Go, that manages its own memory, and the
# password hash.
CGO_ENABLED=1 go test -race -short -gcflags=all=-dwarf=false \
	-gcflags='modernc.org/sqlite/lib=-race=false -dwarf=false' -gcflags='golang.org/x/crypto/argon2=-race=false -dwarf=false' \
	-timeout 20m "${packages[@]}"
