#!/usr/bin/env bash
# Builds the dashboard into web/stub/dist, where the Go build embeds it. Does nothing if no source file has changed.
set -euo pipefail
cd "$(dirname "$0")/../web"

if [ stub/dist/index.html -nt package-lock.json ] &&
	[ -z "$(find src public scripts index.html vite.config.ts tsconfig.json package.json -newer stub/dist/index.html -type f -print -quit 2>/dev/null)" ]; then
	exit 0
fi
if ! command -v npm >/dev/null; then
	echo 'error: the dashboard needs Node.js 20.19 or newer with npm' >&2
	exit 1
fi
../scripts/install-web.sh
npm run build
