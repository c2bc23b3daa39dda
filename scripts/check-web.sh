#!/usr/bin/env bash
# Checks the dashboard source: types, lint, format, unit tests, and that the generated API types are current.
set -euo pipefail
cd "$(dirname "$0")/../web"

../scripts/install-web.sh
npm run --silent check
