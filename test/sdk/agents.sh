#!/usr/bin/env bash
# Installs pinned coding agents below .cache/sdk/agents, about 1 GB, and runs each of them against the built gateway. They are not
# part of setup.sh because of their size: without them, the test is skipped.
set -euo pipefail
cd "$(dirname "$0")/../.."

agents=(@anthropic-ai/claude-code@2.1.325 @openai/codex@0.166.0 opencode-ai@1.18.33)
cache=$PWD/.cache/sdk/agents
if [ "$(cat "$cache/stamp" 2>/dev/null)" != "${agents[*]}" ]; then
	rm -rf "$cache"
	mkdir -p "$cache"
	npm install --prefix "$cache" --no-audit --no-fund --engine-strict=false "${agents[@]}"
	echo "${agents[*]}" >"$cache/stamp"
fi
if [ -z "${FAIRLEAD_TEST_BINARY:-}" ] && [ -x bin/fairlead ]; then
	export FAIRLEAD_TEST_BINARY="$PWD/bin/fairlead"
fi
go test -count=1 -timeout 10m -run '^TestCodingAgents$' -v ./test/sdk
