#!/usr/bin/env bash
# The tests that need services or the built binary. with-services.sh calls it.
set -euo pipefail
cd "$(dirname "$0")/.."

mapfile -t packages < <(scripts/service-packages.sh)
if [ ${#packages[@]} -gt 0 ]; then
	go test -race -timeout 10m "${packages[@]}"
fi

# The fault catalogue has a target of its own; so have the tests in other languages. Of the soak only the arithmetic runs here,
# and of the chart nothing where helm is not installed: make deploy-check installs it.
mapfile -t blackbox < <(go list ./test/... 2>/dev/null | grep -Ev '/faults$|/(sdk|browser)(/|$)' || true)
if [ ${#blackbox[@]} -gt 0 ]; then
	FAIRLEAD_TEST_BINARY="$PWD/bin/fairlead" go test -count=1 -timeout 15m "${blackbox[@]}"
fi
