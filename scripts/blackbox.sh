#!/usr/bin/env bash
# Runs the tests of the built binary. Called by with-services.sh.
set -euo pipefail
cd "$(dirname "$0")/.."

# The fault catalogue, the tests in other languages and those of deploy/, which need helm, have their own targets. Of the soak test,
# only the tests of its arithmetic run here. Most of these tests wait for processes, so more of them run in parallel than there are cores.
mapfile -t blackbox < <(go list ./test/... | grep -Ev '/(faults|deploy)$|/(sdk|browser)(/|$)')
FAIRLEAD_TEST_BINARY="$PWD/bin/fairlead" go test -count=1 -timeout 15m -parallel 8 "${blackbox[@]}"
