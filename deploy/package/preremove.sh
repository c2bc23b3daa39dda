#!/bin/sh
# Stops the service when the package is removed, not when it is upgraded: Debian passes "remove" or "upgrade", RPM the number of
# versions that stay. Files in /etc/fairlead and /var/lib/fairlead stay.
set -e
case "${1:-}" in
remove | 0)
	if [ -d /run/systemd/system ]; then
		systemctl disable --now fairlead.service || true
	fi
	;;
esac
