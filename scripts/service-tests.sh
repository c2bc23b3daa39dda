#!/usr/bin/env bash
# Runs the package tests that need services. Called by with-services.sh.
set -euo pipefail
cd "$(dirname "$0")/.."

mapfile -t packages < <(scripts/service-packages.sh | grep -vx 'fairlead/internal/store')
scripts/race-test.sh "${packages[@]}"
# Each property-test case of the store creates a database, so it runs a third of the default number of cases.
scripts/race-test.sh ./internal/store -rapid.checks=33
