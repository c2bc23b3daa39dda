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
if [ ! -s secrets/tls_key ]; then # a certificate for the first test; replace both files with those of your domain
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 90 -subj "/CN=${FAIRLEAD_DOMAIN:-localhost}" \
		-addext "subjectAltName=DNS:${FAIRLEAD_DOMAIN:-localhost}" -keyout secrets/.tls_key -out secrets/tls_certificate 2>/dev/null
	chmod 444 secrets/.tls_key secrets/tls_certificate
	mv secrets/.tls_key secrets/tls_key
fi
put store_url "postgres://fairlead:$(cat secrets/postgres_password)@postgres:5432/fairlead?sslmode=disable"
put redis_url "redis://:$(cat secrets/redis_password)@valkey:6379/0"
