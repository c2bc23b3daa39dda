#!/usr/bin/env bash
# The tests of the built binary. with-services.sh calls it.
set -euo pipefail
cd "$(dirname "$0")/.."

# The fault catalogue has a target of its own; so have the tests in other languages and those of deploy/, which need helm. Of the
# soak only the arithmetic runs here. Most of these tests wait for processes: more of them run at once than there are cores.
mapfile -t blackbox < <(go list ./test/... | grep -Ev '/(faults|deploy)$|/(sdk|browser)(/|$)')
FAIRLEAD_TEST_BINARY="$PWD/bin/fairlead" go test -count=1 -timeout 15m -parallel 4 "${blackbox[@]}"
