#!/usr/bin/env bash
# Installs missing test dependencies: PostgreSQL, Redis, strace, Chromium without a window (headless shell), ip, jq, OpenSSL, Python with venv, and the packages given as arguments.
# Does nothing if all of them are installed.
set -euo pipefail

missing=()
compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || command -v initdb >/dev/null || missing+=(postgresql)
command -v redis-server >/dev/null || command -v valkey-server >/dev/null || missing+=(redis-server)
PATH=$PATH:/usr/sbin command -v ip >/dev/null || missing+=(iproute2)
for tool in jq openssl; do
	command -v "$tool" >/dev/null || missing+=("$tool")
done
command -v strace >/dev/null || missing+=(strace)
[ -n "${CHROMIUM:-}" ] || command -v chromium-headless-shell >/dev/null || missing+=(chromium-headless-shell)
python3 -c 'import ensurepip' 2>/dev/null || missing+=(python3 python3-venv)
for tool in "$@"; do
	PATH=$PATH:/usr/sbin command -v "$tool" >/dev/null || missing+=("$tool")
done
[ ${#missing[@]} -eq 0 ] && exit 0

how="apt-get install --no-install-recommends ${missing[*]}"
if [ "$(id -u)" -ne 0 ]; then
	echo "error: the tests need ${missing[*]}, which only root can install" >&2
	echo "  fix: sudo $how" >&2
	exit 1
fi
if ! command -v apt-get >/dev/null; then
	echo "error: the tests need ${missing[*]}, and apt-get was not found" >&2
	echo "  fix: install them with the package manager of this system" >&2
	exit 1
fi

echo "installing ${missing[*]}" >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# Prevents packages from starting their services: the tests start their own on free ports.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
	printf '#!/bin/sh\nexit 101\n' >"$policy"
	chmod +x "$policy"
	trap 'rm -f "$log" "$policy"' EXIT
fi
export DEBIAN_FRONTEND=noninteractive
install() { apt-get install -y -qq --no-install-recommends "${missing[@]}"; }
if ! { install || { apt-get update -qq && install; }; } >"$log" 2>&1; then
	tail -n 20 "$log" >&2
	echo "error: could not install ${missing[*]}" >&2
	echo "  fix: $how" >&2
	exit 1
fi
