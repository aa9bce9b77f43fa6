#!/bin/sh
# Keeps a copy of a list of prices: follow.sh URL FILTER FILE, as in
#
#     follow.sh http://127.0.0.1:8080/v1/prices 'accelerator=H100&max_usd_per_hour=30' h100.json
#
# FILE holds {id: offer} and is replaced as a whole at each change. The loop of any poller: read the list
# once, then follow `delta`, which waits at the server until there is something new. Needs curl and jq.
set -eu
api=$1 filter=$2 file=$3
delta=

replace() { # what jq makes of the copy and the answer
	jq -s "$1" "$file" "$file.page" > "$file.new" && mv "$file.new" "$file"
}

ask() { # the status; 000 when nobody answers
	curl -sS --max-time 60 -o "$file.page" -w '%{http_code}' "$api$1" || true
}

start_over() {
	link="?limit=1000&$filter"
	echo '{}' > "$file.page" && cp "$file.page" "$file.list"
	while [ "$link" != null ]; do
		case $(ask "$link") in
		200) ;;
		400) cat "$file.page" >&2 && exit 2 ;; # what is wrong with the filter
		*) return 1 ;;
		esac
		delta=${delta:-$(jq -r .delta "$file.page")} # of the first page: what changed since it was read
		jq -s '.[0] + (.[1].items | map({(.id): .}) | add // {})' "$file.list" "$file.page" > "$file.new"
		mv "$file.new" "$file.list"
		link=$(jq -r .next "$file.page")
	done
	mv "$file.list" "$file"
}

while :; do
	if [ -z "$delta" ] && ! start_over; then
		delta=
		sleep 5
		continue
	fi
	case $(ask "$delta&wait=20") in
	200)
		replace '.[1] as $new | .[0] + ($new.changes | map({(.id): .}) | add // {})
			| del(.[$new.removed[].id])'
		delta=$(jq -r .delta "$file.page")
		;;
	410) delta= ;; # too old, or the table was rebuilt: start again
	*) sleep 5 ;;  # not now (429, 503, a restart): the same again
	esac
done
