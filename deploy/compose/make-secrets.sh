#!/bin/sh
# Creates the secrets of the compose file; existing files are kept. Keep a copy of secrets/ in a safe place: without
# master_key, stored keys and credentials are unusable.
set -eu
cd "$(dirname "$0")"
umask 077
mkdir -p secrets

random() { head -c 32 /dev/urandom | od -An -v -tx1 | tr -d ' \n'; }

# put NAME TEXT writes a file atomically. Containers read it as other users, so the file is readable and the folder is not.
put() {
	[ ! -s "secrets/$1" ] || return 0
	printf '%s' "$2" >"secrets/.$1"
	chmod 444 "secrets/.$1"
	mv "secrets/.$1" "secrets/$1"
}

put master_key "$(random)"
put postgres_password "$(random)"
put redis_password "$(random)"
put store_url "postgres://fairlead:$(cat secrets/postgres_password)@postgres:5432/fairlead?sslmode=disable"
put redis_url "redis://:$(cat secrets/redis_password)@valkey:6379/0"
