#!/usr/bin/env bash
# Installs the locked packages of the dashboard; does nothing if the lock file has not changed.
set -euo pipefail
cd "$(dirname "$0")/../web"

if [ ! node_modules/.package-lock.json -nt package-lock.json ]; then
	npm ci --no-audit --no-fund
fi
