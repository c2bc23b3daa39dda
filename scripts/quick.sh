#!/usr/bin/env bash
# quick.sh [GO TEST FLAGS]: builds everything, then vets and tests the Go packages that differ from the merge base with main. Uncommitted and
# untracked files count. Packages below test/ and bench/ need a built binary and are only vetted.
set -euo pipefail
cd "$(dirname "$0")/.."

# package_of prints the nearest folder that holds Go files, so that testdata and migrations count for their package.
package_of() {
	local dir
	dir=$(dirname "$1")
	until [ "$dir" = . ] || compgen -G "$dir/*.go" >/dev/null; do
		dir=$(dirname "$dir")
	done
	[ "$dir" = . ] || echo "./$dir"
}

base=$(git merge-base HEAD main 2>/dev/null || git merge-base HEAD origin/main 2>/dev/null || echo HEAD)
mapfile -t packages < <(
	{
		git diff --name-only "$base"
		git ls-files --others --exclude-standard
	} | sort -u | while read -r file; do
		case $file in
		*.md) printf './internal/%s\n' app config policy ;; # their tests read the documents
		*) package_of "$file" ;;
		esac
	done | sort -u
)

go build ./...
if [ ${#packages[@]} -eq 0 ]; then
	echo 'no Go package has changed'
	exit 0
fi
go vet "${packages[@]}"
mapfile -t tested < <(printf '%s\n' "${packages[@]}" | grep -Ev '^\./(test|bench)(/|$)' || true)
[ ${#tested[@]} -eq 0 ] || go test "$@" "${tested[@]}"
