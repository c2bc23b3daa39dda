#!/usr/bin/env bash
# Checks the dashboard source: types, lint, format and unit tests.
set -euo pipefail
cd "$(dirname "$0")/../web"

../scripts/install-web.sh
npm run --silent check
