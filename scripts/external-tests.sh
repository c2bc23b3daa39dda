#!/usr/bin/env bash
# Runs the tests that embed large programs of others: Dex and the OpenTelemetry Collector. They are a module of their own, so that nobody
# else downloads and compiles these programs.
set -euo pipefail
cd "$(dirname "$0")/../test/external"

GOWORK=off go test -count=1 -timeout 15m ./...
