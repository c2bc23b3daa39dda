#!/usr/bin/env bash
# Drives the dashboard of the built gateway in Chromium. Arguments are Playwright's: a file, -g name, --project=phone.
set -euo pipefail
cd "$(dirname "$0")"

. ./setup.sh
npm run --silent check
# The screenshots are a project of their own, made by screenshots.sh.
projects=(--project=desktop --project=phone --project=dark)
for argument in "$@"; do
	case "$argument" in --project*) projects=() ;; esac
done
exec npx playwright test "${projects[@]}" "$@"
