#!/bin/sh
# Creates the service account and, after an upgrade, restarts a running gateway. A new installation is started by the operator.
set -e
if command -v systemd-sysusers >/dev/null 2>&1; then
	systemd-sysusers fairlead.conf
elif ! id fairlead >/dev/null 2>&1; then
	useradd --system --user-group --home-dir /var/lib/fairlead --no-create-home --shell /usr/sbin/nologin fairlead
fi
# Without systemd, as in a container or an image build, no service runs. A gateway that does not start again is reported by systemd and
# must not leave the package half installed.
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload || true
	systemctl try-restart fairlead.service || true
fi
