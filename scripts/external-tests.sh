#!/usr/bin/env bash
# Runs the tests that embed large programs of others, Dex and the OpenTelemetry Collector, and the guide for teams with nginx, PostgreSQL and
# Redis. They are a module of their own, so that nobody else downloads and compiles these programs.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup-test.sh nginx
GOWORK=off scripts/with-services.sh go test -C test/external -count=1 -timeout 15m ./...
