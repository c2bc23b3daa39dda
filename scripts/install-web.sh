#!/usr/bin/env bash
# Installs the exact packages of the dashboard, once per lock file.
set -euo pipefail
cd "$(dirname "$0")/../web"

if [ ! node_modules/.package-lock.json -nt package-lock.json ]; then
	npm ci --no-audit --no-fund
fi
