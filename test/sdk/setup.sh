#!/usr/bin/env bash
# Installs pinned versions of the official clients that the tests drive, below .cache/sdk. Does nothing if they are already
# installed, so later runs need no network.
set -euo pipefail
cd "$(dirname "$0")"

cache=$(cd ../.. && pwd)/.cache/sdk
mkdir -p "$cache"
if command -v flock >/dev/null; then # another run may be installing
	exec 9>"$cache/lock"
	flock 9
fi

# once NAME INPUT COMMAND...: runs the command unless it has succeeded before with the same input.
once() {
	local stamp="$cache/$1.stamp" log="$cache/$1.log" input=$2
	shift 2
	local want
	want=$(cat "$input"; echo "$@")
	if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$want" ]; then
		return
	fi
	rm -f "$stamp"
	if ! "$@" >"$log" 2>&1; then
		tail -n 20 "$log" >&2
		echo "error: could not run: $*" >&2
		return 1
	fi
	printf '%s\n' "$want" >"$stamp"
}

# uv installs Python packages with a fifth of the CPU time of pip. Like pip, it uses the certificates of the system.
export UV_SYSTEM_CERTS=1 UV_DEFAULT_INDEX="${UV_DEFAULT_INDEX:-${PIP_INDEX_URL:-https://pypi.org/simple}}"
install_uv() {
	rm -rf "$cache/uv"
	python3 -m venv "$cache/uv" &&
		"$cache/uv/bin/pip" install --quiet --disable-pip-version-check --no-input -r python/uv.txt
}

# install_python NAME REQUIREMENTS: creates a virtual environment with these packages.
install_python() {
	local uv="$cache/uv/bin/uv" environment="$cache/$1"
	rm -rf "$environment"
	"$uv" venv --quiet --no-config --python "$(command -v python3)" "$environment" &&
		"$uv" pip install --quiet --no-config --python "$environment/bin/python" -r "$2"
}

install_node() {
	(cd node && npm ci --no-audit --no-fund --ignore-scripts --engine-strict=false)
}

# The agents need their installation scripts, which put the program for the platform in place. They are installed with
# npm install, because npm ci fails when the registry lacks the program of another platform.
install_agents() {
	rm -rf "$cache/agents"
	mkdir "$cache/agents" && cp agents/package.json agents/package-lock.json "$cache/agents" &&
		npm install --prefix "$cache/agents" --no-audit --no-fund --engine-strict=false
}

install_go() {
	# Downloads only the modules that are used; the guide of SDKs uses the one of Anthropic.
	(cd go && GOWORK=off go list -deps . github.com/anthropics/anthropic-sdk-go >/dev/null)
}

python_packages() {
	{ once uv python/uv.txt install_uv && once python python/requirements.txt install_python python python/requirements.txt &&
		once frameworks python/frameworks.txt install_python frameworks python/frameworks.txt; } ||
		{ echo '  fix: install Python 3.11 or newer with its venv module (Debian: apt-get install python3-venv)' >&2; return 1; }
	if python3 -c 'import sys; sys.exit(not (3, 10) <= sys.version_info < (3, 13))'; then
		# aider pins its dependencies, so it needs a separate environment.
		once aider agents/requirements.txt install_python aider agents/requirements.txt ||
			{ echo '  fix: aider needs 700 MB of disk and 150 MB of downloads' >&2; return 1; }
	else
		echo 'note: aider needs Python 3.10 to 3.12; its test is skipped' >&2
		rm -rf "$cache/aider"
	fi
}

node_packages() {
	[ -d node/node_modules ] || rm -f "$cache/node.stamp"
	once node node/package-lock.json install_node ||
		{ echo '  fix: install Node 20 or newer with npm' >&2; return 1; }
	once agents agents/package-lock.json install_agents ||
		{ echo '  fix: coding agents need 2.7 GB of disk and 1 GB of downloads' >&2; return 1; }
}

python_packages &
python=$!
node_packages &
node=$!
once go go/go.sum install_go
wait "$python"
wait "$node"
