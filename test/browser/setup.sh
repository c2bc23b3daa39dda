# Installs the exact packages of the browser tests, once per lock file. Sourced by the scripts beside it.
# Debian's Chromium is used: Playwright must not bring browsers of its own.
export PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1
export npm_config_loglevel=error npm_config_update_notifier=false
if [ ! node_modules/.package-lock.json -nt package-lock.json ]; then
	npm ci --no-audit --no-fund --silent
fi
