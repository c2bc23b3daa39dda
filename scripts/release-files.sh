#!/usr/bin/env bash
# Writes the files that a release needs in addition to the binaries into bin/release-files: unit, completions, and the program that
# writes bills of materials.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/build-web.sh
out=bin/release-files
mkdir -p "$out/completions"
sed 's,/usr/local/bin/,/usr/bin/,' deploy/systemd/fairlead.service > "$out/fairlead.service"
go build -o "$out/sbom" ./scripts/sbom
go build -o "$out/fairlead" ./cmd/fairlead
for shell in bash zsh fish; do
	"$out/fairlead" completion "$shell" > "$out/completions/fairlead.$shell"
done
