#!/usr/bin/env bash
# The tests that need services or the built binary. with-services.sh calls it.
set -euo pipefail
cd "$(dirname "$0")/.."

mapfile -t packages < <(scripts/service-packages.sh | grep -vx 'fairlead/internal/store')
scripts/race-test.sh "${packages[@]}"
# Every history of a property of the store needs a database of its own: a third of the usual number of them.
scripts/race-test.sh ./internal/store -rapid.checks=33

# The fault catalogue has a target of its own; so have the tests in other languages and those of deploy/, which need helm. Of the
# soak only the arithmetic runs here.
mapfile -t blackbox < <(go list ./test/... 2>/dev/null | grep -Ev '/(faults|deploy)$|/(sdk|browser)(/|$)' || true)
if [ ${#blackbox[@]} -gt 0 ]; then
	FAIRLEAD_TEST_BINARY="$PWD/bin/fairlead" go test -count=1 -timeout 15m "${blackbox[@]}"
fi
