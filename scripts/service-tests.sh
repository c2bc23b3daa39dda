#!/usr/bin/env bash
# The package tests that need services. with-services.sh calls it.
set -euo pipefail
cd "$(dirname "$0")/.."

mapfile -t packages < <(scripts/service-packages.sh | grep -vx 'fairlead/internal/store')
scripts/race-test.sh "${packages[@]}"
# Every history of a property of the store needs a database of its own: a third of the usual number of them.
scripts/race-test.sh ./internal/store -rapid.checks=33
