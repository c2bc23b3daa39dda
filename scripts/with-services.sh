#!/usr/bin/env bash
# with-services.sh COMMAND...: starts a temporary PostgreSQL and Redis on free loopback ports, runs the command with their addresses in
# FAIRLEAD_TEST_POSTGRES and FAIRLEAD_TEST_REDIS, and stops both on every exit. The ports are the same in each run if they are free:
# the addresses belong to what go test caches a result under.
set -euo pipefail

dir=$(mktemp -d "${TMPDIR:-/tmp}/fairlead-services.XXXXXX")
chmod 755 "$dir"
redis_pid=
command_pid=
pg_started=

# PostgreSQL does not run as root.
as_postgres() {
	if [ "$(id -u)" -eq 0 ]; then
		runuser -u postgres -- "$@"
	else
		"$@"
	fi
}

stop() {
	status=$?
	trap - EXIT INT TERM
	if [ -n "$command_pid" ]; then
		kill "$command_pid" 2>/dev/null || true
	fi
	if [ -n "$pg_started" ]; then
		as_postgres "$pg/pg_ctl" -D "$dir/pg/data" -m immediate -w stop >/dev/null 2>&1 || true
	fi
	if [ -n "$redis_pid" ]; then
		kill "$redis_pid" 2>/dev/null || true
		wait "$redis_pid" 2>/dev/null || true
	fi
	rm -rf "$dir"
	exit "$status"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Prints the given port if it is free, otherwise any free one.
free_port() {
	python3 - "$1" <<'PY' 2>/dev/null || echo $((20000 + RANDOM % 20000))
import socket, sys
for port in int(sys.argv[1]), 0:
    s = socket.socket()
    try:
        s.bind(("127.0.0.1", port))
    except OSError:
        continue
    print(s.getsockname()[1])
    break
PY
}

fail() {
	echo "error: $1" >&2
	[ -f "$2" ] && tail -n 20 "$2" >&2
	exit 1
}

start_postgres() {
	if command -v initdb >/dev/null; then
		pg=$(dirname "$(readlink -f "$(command -v initdb)")")
	else
		pg=$(find /usr/lib/postgresql -path '*/bin/initdb' 2>/dev/null | sort -V | tail -n 1)
		[ -n "$pg" ] || fail 'PostgreSQL is not installed; run scripts/setup-test.sh' /dev/null
		pg=$(dirname "$pg")
	fi
	mkdir "$dir/pg"
	[ "$(id -u)" -ne 0 ] || chown postgres "$dir/pg"
	as_postgres "$pg/initdb" -D "$dir/pg/data" -U fairlead -A trust -E UTF8 --locale=C --no-sync >"$dir/initdb.log" 2>&1 ||
		fail 'initdb failed' "$dir/initdb.log"
	for _ in 1 2 3; do
		port=$(free_port 25432)
		# fsync=off is safe: the server is temporary, and durability is tested on the client side.
		if as_postgres "$pg/pg_ctl" -D "$dir/pg/data" -w -t 60 -l "$dir/pg/log" \
			-o "-c listen_addresses=127.0.0.1 -c port=$port -c unix_socket_directories='' -c fsync=off -c max_connections=200" start >/dev/null 2>&1; then
			pg_started=yes
			export FAIRLEAD_TEST_POSTGRES="postgres://fairlead@127.0.0.1:$port/postgres?sslmode=disable"
			return
		fi
	done
	fail 'PostgreSQL did not start' "$dir/pg/log"
}

start_redis() {
	server=$(command -v redis-server || command -v valkey-server) || fail 'Redis is not installed; run scripts/setup-test.sh' /dev/null
	cli=$(command -v redis-cli || command -v valkey-cli)
	for _ in 1 2 3; do
		port=$(free_port 26379)
		"$server" --bind 127.0.0.1 --port "$port" --dir "$dir" --save '' --appendonly no >"$dir/redis.log" 2>&1 &
		redis_pid=$!
		for _ in $(seq 100); do
			if [ "$("$cli" -h 127.0.0.1 -p "$port" ping 2>/dev/null)" = PONG ]; then
				export FAIRLEAD_TEST_REDIS="redis://127.0.0.1:$port/0"
				return
			fi
			kill -0 "$redis_pid" 2>/dev/null || break
			sleep 0.1
		done
		kill "$redis_pid" 2>/dev/null || true
	done
	fail 'Redis did not start' "$dir/redis.log"
}

start_postgres
start_redis
# In the background, because bash handles signals only after a foreground command has ended.
"$@" <&0 &
command_pid=$!
wait "$command_pid"
