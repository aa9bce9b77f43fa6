#!/bin/sh
# Lints openapi/openapi.yaml with Redocly and Spectral (OWASP rules). The linters are installed by npm
# into a folder outside the tree, once for each package-lock.json; the lock names no host, so that any
# registry or mirror that npm is set up for will do.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
contract=$here/../../openapi/openapi.yaml
key=$(sha256sum "$here/package-lock.json" | cut -c1-16)
folder=${GPUPICK_LINT_CACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/gpupick-lint}/$key

if [ ! -e "$folder/installed" ]; then
	mkdir -p "$folder"
	cp "$here/package.json" "$here/package-lock.json" "$folder/"
	(cd "$folder" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error)
	touch "$folder/installed"
fi
cp "$here/redocly.mjs" "$here/redocly.yaml" "$here/spectral.yaml" "$folder/"
cd "$folder"
node redocly.mjs "$contract" redocly.yaml
node node_modules/@stoplight/spectral-cli/dist/index.js lint --fail-severity=warn --ruleset spectral.yaml "$contract"
echo "openapi.yaml: no findings"
