#!/usr/bin/env bash
# The dependency rules, as greps: who may include what, who may write SQL, which functions are banned.
# Prints every breach; exits 1 when there is one.
set -u
cd "$(dirname "$0")/.." || exit 1
failed=0

breach() { # title, lines
	[ -z "$2" ] && return
	failed=1
	printf '%s\n%s\n' "$1" "$2" | sed '2,$s/^/    /'
}

sources() { find "$@" -name '*.[ch]' -o -name '*.inc' 2>/dev/null; }
includes() { # pattern, path to leave out, folders...
	local pattern=$1 except=$2
	shift 2
	sources "$@" | grep -vE "$except" | xargs -r grep -nE "#[[:space:]]*include[[:space:]]+[<\"]($pattern)"
}

breach "core may include core and these libc headers only" "$(
	sources core | xargs grep -nE '#[[:space:]]*include' |
		grep -vE '"core/[a-z0-9_/]+\.(h|inc)"|<(assert|ctype|float|inttypes|limits|math|stdalign|stdarg|stdbool|stddef|stdint|stdio|stdlib|string|strings)\.h>')"
breach "libmicrohttpd belongs to server/http" "$(includes 'microhttpd\.h' '^server/http/' core server)"
breach "libpq belongs to server/store" "$(includes 'libpq' '^server/store/' core server)"
breach "libcurl belongs to server/ingest/fetch*.c" "$(includes 'curl/' '^server/ingest/fetch' core server)"
breach "libcrypto belongs to server/key.c and server/ingest/providers/jwt.c" \
	"$(includes 'openssl/' '^server/(key|ingest/providers/jwt)\.c' core server)"
breach "jansson belongs to server/json and the providers" \
	"$(includes 'jansson\.h' '^server/(json|ingest/providers)/' core server)"
breach "headers show no library type" \
	"$(find core server -name '*.h' | grep -vE '^server/(json|ingest/providers|http|store)/' |
		xargs -r grep -nE '#[[:space:]]*include[[:space:]]+<(jansson|microhttpd|libpq|curl/)')"
breach "providers know provider.h, instance data and core, nothing else of the server" "$(
	sources server/ingest/providers | xargs -r grep -nE '#[[:space:]]*include[[:space:]]+"server/' |
		grep -vE '"server/ingest/(provider|fetch)\.h"|"server/ingest/providers/')"
breach "API handlers reach no library and no store" \
	"$(includes '(libpq|curl/|microhttpd)|server/(store|ingest)/' '^server/api/terminal' server/api)"
breach "SQL belongs to server/store and migrations" "$(
	sources core server | grep -v '^server/store/' |
		xargs -r grep -nE '"[^"]*\b(SELECT .* FROM|INSERT INTO|DELETE FROM|CREATE TABLE|ALTER TABLE)\b')"
breach "banned functions" "$(
	sources core server | xargs -r grep -nwE '(strcpy|strcat|sprintf|vsprintf|strtok|gmtime|localtime|atoi|atol|atof|rand|gets|setlocale|alloca)[[:space:]]*\(')"
breach "left-over markers" "$(
	grep -rnwE 'TODO|FIXME|XXX|HACK' core server tests deploy migrations --exclude-dir=node_modules \
		--include='*.[ch]' --include='*.sh' --include='*.py' --include='*.sql' --exclude=layering.sh)"
breach "top level is fixed" "$(
	git ls-files 2>/dev/null | cut -d/ -f1 | sort -u |
		grep -vE '^(meson\.build|server|core|migrations|openapi|deploy|tests|Dockerfile|README\.md|LICENSE|\..*)$')"
[ $failed = 0 ] && echo "layering: every rule holds"
exit $failed
