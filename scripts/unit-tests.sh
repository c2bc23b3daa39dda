#!/usr/bin/env bash
# unit-tests.sh PACKAGES...: runs package tests. Packages that start goroutines, lock or use atomic values run with the race detector.
# In the others it finds little, and it takes most of the time. Long computations take up to twenty times as long with it: their tests skip
# themselves in short mode, and their packages also run without the race detector.
set -euo pipefail
cd "$(dirname "$0")/.."

race=() plain=()
for package in "$@"; do
	folder=${package#fairlead.dev/}
	shared=$(find "$folder" -maxdepth 1 -name '*.go' ! -name '*_test.go' \
		-exec grep -lE '\bgo (func|[a-z]+[.(])|\.Go\(|sync\.(RW)?Mutex|sync\.Map|\batomic\.[A-Z]' {} + || true)
	if [ -n "$shared" ]; then
		race+=("$package")
	fi
	if [ -z "$shared" ] || grep -qs 'testing\.Short()' "$folder"/*_test.go; then
		plain+=("$package")
	fi
done
[ ${#plain[@]} = 0 ] || go test -timeout 20m "${plain[@]}"
# Not instrumented, because it would take most of the test time: C code of SQLite, translated to Go, that manages its own memory, and the
# password hash.
[ ${#race[@]} = 0 ] || CGO_ENABLED=1 go test -race -short -gcflags=all=-dwarf=false \
	-gcflags='modernc.org/sqlite/lib=-race=false -dwarf=false' -gcflags='golang.org/x/crypto/argon2=-race=false -dwarf=false' \
	-timeout 20m "${race[@]}"
