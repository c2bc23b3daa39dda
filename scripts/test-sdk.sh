#!/usr/bin/env bash
# Runs the tests with the official client libraries against the built binary. They are modules of their own, so that
# the libraries are no dependencies of the gateway.
set -euo pipefail
cd "$(dirname "$0")/.."
export FAIRLEAD_TEST_BINARY="$PWD/bin/fairlead"

if compgen -G 'test/sdk/go/*_test.go' >/dev/null; then
	(cd test/sdk/go && go test -count=1 -timeout 10m ./...)
fi
if [ -f test/sdk/node/package.json ] && grep -q '"test"' test/sdk/node/package.json; then
	(cd test/sdk/node && npm ci --silent --no-audit --no-fund && npm test --silent)
fi
