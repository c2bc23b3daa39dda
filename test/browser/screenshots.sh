#!/usr/bin/env bash
# Writes screenshots of every page, light, dark and narrow, with sample traffic, to test-results/screenshots. Those for docs/images are the files
# docs-*.png; "-g documentation" takes only them, and "go run ./test/browser/docimages" copies them.
set -euo pipefail
cd "$(dirname "$0")"

. ./setup.sh
rm -rf ../../test-results/screenshots
exec npx playwright test --project=screenshots "$@"
