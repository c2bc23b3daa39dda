#!/usr/bin/env bash
# Drives the built gateway, and the mocks of the vendors behind it, with the official clients and with coding agents. Arguments are
# passed on to go test.
set -euo pipefail
cd "$(dirname "$0")/../.."

test/sdk/setup.sh
if [ -z "${FAIRLEAD_TEST_BINARY:-}" ] && [ -x bin/fairlead ]; then
	export FAIRLEAD_TEST_BINARY="$PWD/bin/fairlead"
fi
# Each client program has its own time limit. The timeout of the whole run only stops a run that hangs.
go test -count=1 -timeout 60m "$@" ./test/sdk
