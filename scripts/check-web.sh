#!/usr/bin/env bash
# Checks the dashboard's source: types, lint, format, unit tests, and that its API types are current.
set -euo pipefail
cd "$(dirname "$0")/../web"

if [ ! -d node_modules ] || [ package-lock.json -nt node_modules ]; then
	npm ci --no-audit --no-fund
	touch node_modules
fi
npm run --silent check
