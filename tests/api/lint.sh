#!/bin/sh
# Lints openapi/openapi.yaml, and the 3.0.3 derived from it, with Redocly and Spectral (OWASP rules); generates
# TypeScript types from both and compiles a client of them. The tools are installed by npm into a folder outside
# the tree, once for each package-lock.json; the lock names no host, so that any registry or mirror that npm is set
# up for will do.
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
work=$(mktemp -d "$folder/work.XXXXXX")
trap 'rm -rf "$work"' EXIT
cp "$here/redocly.mjs" "$here/redocly.yaml" "$here/spectral.yaml" "$folder/"
/usr/bin/python3 -B "$here/../../openapi/derive.py" "$contract" "$work"
cd "$folder"

# Types of a document, and the client compiled against them.
compile() {
	node node_modules/openapi-typescript/bin/cli.js "$1" --default-non-nullable=false -o "$work/schema.d.ts" >/dev/null
	cp "$here/client.ts" "$work/"
	node node_modules/typescript/bin/tsc --noEmit --strict --noUncheckedIndexedAccess --exactOptionalPropertyTypes \
		--target es2022 --lib es2022,dom,dom.iterable --module nodenext "$work/client.ts"
}

for document in "$contract" "$work/openapi-3.0.json"; do
	node redocly.mjs "$document" redocly.yaml
	node node_modules/@stoplight/spectral-cli/dist/index.js lint --fail-severity=warn --ruleset spectral.yaml "$document"
	compile "$document"
	echo "$(basename "$document"): no findings; its TypeScript types compile"
done
