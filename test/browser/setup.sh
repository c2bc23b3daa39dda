# Installs the packages of the browser tests when the lock file changed. Sourced by the other scripts in this directory.
# The tests use Debian's Chromium, so Playwright must not download browsers.
export PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1
export npm_config_loglevel=error npm_config_update_notifier=false
if [ ! node_modules/.package-lock.json -nt package-lock.json ]; then
	npm ci --no-audit --no-fund --silent
fi
