#!/usr/bin/env bash
# Runs the package tests that need services. Called by with-services.sh.
set -euo pipefail
cd "$(dirname "$0")/.."

mapfile -t packages < <(scripts/service-packages.sh | grep -vx 'fairlead.dev/internal/store')
scripts/unit-tests.sh "${packages[@]}"
# Each property-test case of the store creates a database, so it runs a third of the default number of cases.
go test -timeout 20m ./internal/store -rapid.checks=33
