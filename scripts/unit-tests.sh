#!/usr/bin/env bash
# Runs the package tests. Called by with-services.sh.
set -euo pipefail
cd "$(dirname "$0")/.."

mapfile -t packages < <(go list ./... | grep -vx 'fairlead.dev/internal/store')
go test -timeout 20m "${packages[@]}"
# Each case of the store's property tests creates a database, so a third of the default number of cases runs.
RAPID_CHECKS=33 go test -timeout 20m ./internal/store
