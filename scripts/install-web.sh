#!/usr/bin/env bash
# Installs the locked packages of the dashboard if the lock file has changed, and generates its API types if the API has changed.
set -euo pipefail
cd "$(dirname "$0")/../web"

if [ ! node_modules/.package-lock.json -nt package-lock.json ]; then
	npm ci --no-audit --no-fund
fi
if [ ! src/api/schema.d.ts -nt ../docs/openapi.json ]; then
	npm run --silent generate
fi
