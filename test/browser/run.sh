#!/usr/bin/env bash
# Tests the dashboard of the built gateway in Chromium. Takes Playwright's arguments: a file, -g name, --project=phone.
set -euo pipefail
cd "$(dirname "$0")"

. ./setup.sh
npm run --silent check
# screenshots.sh runs the screenshots project.
projects=(--project=desktop --project=phone --project=dark)
for argument in "$@"; do
	case "$argument" in --project*) projects=() ;; esac
done
exec npx playwright test "${projects[@]}" "$@"
