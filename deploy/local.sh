#!/usr/bin/env bash
# One command to a running service on this machine: installs what is missing, builds, keeps a private
# PostgreSQL cluster in a folder of its own, migrates, loads prices, then ingests and serves until
# Ctrl-C. Run again it starts in seconds and keeps its data.
#
#   GPUPICK_DATA          folder for cluster, snapshot and binary (root: /var/lib/gpupick)
#   GPUPICK_LISTEN        address of the API (127.0.0.1:8080)
#   GPUPICK_OPS_LISTEN    address of health and metrics (127.0.0.1:9090)
#   GPUPICK_DATABASE_URL  use this database instead of a private cluster
#   and every other setting of `gpupick help config`.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
export PATH=/usr/bin:/bin:/usr/sbin:/sbin:$PATH

say() { printf '%s\n' "$*" >&2; }
die() { say "local.sh: $*"; exit 1; }

if [ "$(id -u)" = 0 ]; then
	data=${GPUPICK_DATA:-/var/lib/gpupick}
else
	data=${GPUPICK_DATA:-${XDG_DATA_HOME:-$HOME/.local/share}/gpupick}
fi
listen=${GPUPICK_LISTEN:-127.0.0.1:8080}
ops=${GPUPICK_OPS_LISTEN:-127.0.0.1:9090}

"$root/deploy/packages.sh" build run

# PostgreSQL refuses to run as root, so root hands cluster and service to an account without rights.
account=$(id -un)
if [ "$(id -u)" = 0 ]; then
	account=postgres
	id -u postgres >/dev/null 2>&1 || account=nobody
fi
drop=()
[ "$(id -un)" = "$account" ] ||
	drop=(setpriv --reuid="$account" --regid="$(id -gn "$account")" --clear-groups env HOME="$data")
as_account() { "${drop[@]}" "$@"; }

mkdir -p "$data"
data=$(cd "$data" && pwd)
[ "$(id -u)" != 0 ] || chown "$account" "$data"
as_account test -w "$data" ||
	die "GPUPICK_DATA: the account '$account' cannot write in $data (is a folder above it closed to others?)"
exec 9>"$data/lock"
flock -n 9 || die "GPUPICK_DATA: another local.sh is running in $data"

say "building (a minute or two the first time) ..."
build=${GPUPICK_BUILD:-$root/build-local}
if ! [ -f "$build/build.ninja" ]; then
	meson setup "$build" "$root" --buildtype=release -Db_lto=true >"$data/build.log" 2>&1 ||
		{ tail -n 30 "$data/build.log" >&2; die "configuring failed"; }
fi
ninja -C "$build" server/gpupick >"$data/build.log" 2>&1 ||
	{ tail -n 30 "$data/build.log" >&2; die "the build failed"; }
# The account may be unable to enter the checkout: run a copy.
mkdir -p "$data/bin"
install -m 755 "$build/server/gpupick" "$data/bin/gpupick.new"
mv -f "$data/bin/gpupick.new" "$data/bin/gpupick"
gpupick=$data/bin/gpupick

service='' cluster='' sockets=''
stop() {
	trap - EXIT
	trap '' INT TERM HUP # a second Ctrl-C must not leave PostgreSQL behind
	if [ -n "$service" ] && kill -TERM "$service" 2>/dev/null; then
		say "stopping ..."
		wait "$service" 2>/dev/null || true
	fi
	if [ -n "$cluster" ]; then
		as_account "$bin/pg_ctl" -D "$cluster" -m fast -w stop >/dev/null 2>&1 || true
	fi
	[ -z "$sockets" ] || rm -rf "$sockets"
}
trap stop EXIT
trap 'stop; exit 0' INT TERM HUP

if [ -z "${GPUPICK_DATABASE_URL:-}" ]; then
	cluster_folder=$data/postgres
	if [ -f "$cluster_folder/PG_VERSION" ]; then
		bin=/usr/lib/postgresql/$(cat "$cluster_folder/PG_VERSION")/bin
		[ -x "$bin/postgres" ] ||
			die "$cluster_folder was made by PostgreSQL $(cat "$cluster_folder/PG_VERSION"), which is not installed"
	else
		bin=$(find /usr/lib/postgresql -maxdepth 2 -name bin 2>/dev/null | sort -V | tail -n 1)
		[ -n "$bin" ] && [ -x "$bin/initdb" ] || bin=$(pg_config --bindir)
		[ -x "$bin/initdb" ] || die "no PostgreSQL server programs were found"
		say "making a private PostgreSQL cluster in $cluster_folder ..."
		rm -rf "$cluster_folder.new"
		as_account "$bin/initdb" -D "$cluster_folder.new" -U gpupick -A trust -E UTF8 --no-locale \
			>"$data/initdb.log" 2>&1 || { tail -n 20 "$data/initdb.log" >&2; die "initdb failed"; }
		as_account mv "$cluster_folder.new" "$cluster_folder"
	fi
	# Only this account (and root) can enter the folder of the socket: trust needs no password then. A
	# socket's path must stay under 108 bytes, so it does not live in the data folder.
	sockets=$(mktemp -d /tmp/gpupick.XXXXXX)
	[ "$(id -u)" != 0 ] || chown "$account" "$sockets"
	chmod 700 "$sockets"
	as_account "$bin/pg_ctl" -D "$cluster_folder" -w -t 120 -l "$data/postgres.log" \
		-o "-c listen_addresses='' -c unix_socket_directories='$sockets'" start >/dev/null 9>&- ||
		{ tail -n 20 "$data/postgres.log" >&2; die "PostgreSQL did not start"; }
	cluster=$cluster_folder
	as_account psql -h "$sockets" -U gpupick -d postgres -qAtc \
		"select 1 from pg_database where datname = 'gpupick'" | grep -q 1 ||
		as_account createdb -h "$sockets" -U gpupick gpupick
	export GPUPICK_DATABASE_URL="host=$sockets user=gpupick dbname=gpupick"
fi
export GPUPICK_DATA=$data GPUPICK_LISTEN=$listen GPUPICK_OPS_LISTEN=$ops

as_account "$gpupick" migrate >&2 || die "migrating the database failed"

# Another service on that port would answer the probe below in our name.
if curl -s -o /dev/null --noproxy '*' --max-time 2 "http://$ops/livez"; then
	die "GPUPICK_OPS_LISTEN: something answers at $ops already"
fi
# Not through the function: the process that is signalled and waited for must be the service itself.
"${drop[@]}" "$gpupick" serve --with-ingest 2>>"$data/gpupick.log" 9>&- &
service=$!
for attempt in $(seq 1 150); do
	kill -0 "$service" 2>/dev/null ||
		{ tail -n 5 "$data/gpupick.log" >&2; service=''; die "the service did not start (log: $data/gpupick.log)"; }
	# Ready from the first table on, which may be empty: the bundled list follows within a second.
	case $(curl -s --noproxy '*' "http://$ops/readyz" || true) in
	*'"ready"'*'"offers":0}'*) [ "$attempt" -lt 25 ] || break ;;
	*'"ready"'*) break ;;
	esac
	[ "$attempt" -lt 150 ] || die "the service is not ready after 30 s (log: $data/gpupick.log)"
	sleep 0.2
done

cat <<EOT

gpupick is running:   http://$listen
health and metrics:   http://$ops/readyz   http://$ops/metrics
data and logs:        $data
on a terminal:        GPUPICK_DATA=$data $gpupick recommend FILE
EOT
case ${GPUPICK_AUTH:-off} in
*keys*) [ -z "$cluster" ] ||
	echo "an API key:           GPUPICK_DATABASE_URL='$GPUPICK_DATABASE_URL' $gpupick key new NAME" ;;
esac
cat <<EOT

Prices start from the bundled list, which is dated, and are replaced as feeds answer; feeds that need a key
stay off without one. How each is doing: http://$listen/v1/providers

Try it:

  curl -s http://$listen/v1/recommendations -H 'Content-Type: application/json' -d '{
    "workload": {"task": "finetune", "method": "qlora", "model": "meta-llama/Llama-3.1-70B",
                 "sequence_length": 2048, "micro_batch": 1,
                 "tokens_per_epoch": 10000000, "epochs": 1},
    "limit": 5}'

Ctrl-C stops everything.
EOT
wait "$service" && status=0 || status=$?
service=''
[ "$status" = 0 ] || die "the service ended with status $status (log: $data/gpupick.log)"
