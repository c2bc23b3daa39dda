#!/usr/bin/env bash
# Builds the archives, packages and Go module of a release in bin/release and tests the ones for this machine: release.sh [--snapshot].
# A release needs a tag such as v1.2.3 and the address in FAIRLEAD_RELEASE_URL under which its files will be published.
set -euo pipefail
cd "$(dirname "$0")/.."
FAIRLEAD_COMMIT=$(git rev-parse --short=12 HEAD)
FAIRLEAD_COMMIT_TIME=$(git log -1 --format=%ct)
last=$(git describe --tags --abbrev=0 --match 'v[0-9]*' 2>/dev/null || echo v0.0.0)
FAIRLEAD_LAST_RELEASE=${last#v}
export GOFLAGS= # the flags of a release are those in .goreleaser.yaml, so that a plain go build repeats them
GORELEASER_CURRENT_TAG=$last # ignores tags that are not versions
if [ "${1:-}" = --snapshot ]; then
	FAIRLEAD_RELEASE_URL=${FAIRLEAD_RELEASE_URL:-file://$PWD/bin/release}
elif [ -z "${FAIRLEAD_RELEASE_URL:-}" ]; then
	echo 'error: set FAIRLEAD_RELEASE_URL to the address under which the files will be published' >&2
	exit 1
fi
export FAIRLEAD_COMMIT FAIRLEAD_COMMIT_TIME FAIRLEAD_LAST_RELEASE FAIRLEAD_RELEASE_URL GORELEASER_CURRENT_TAG
bin/tools/goreleaser release --clean --skip=publish,announce "$@"
go run ./scripts/modulefiles
FAIRLEAD_RELEASE=$PWD/bin/release go test -count=1 ./test/release
