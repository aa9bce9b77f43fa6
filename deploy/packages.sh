#!/usr/bin/env bash
# Installs the Debian packages that a purpose needs: `packages.sh build run` (also image, test, node).
# Does nothing when all are there; uses sudo when not root. The one list that local.sh, tests/run.sh and
# the Dockerfile share.
set -eu

# What some tests need, which are skipped where a distribution lacks it: gateways in front of the service,
# a browser for its page, promtool for metrics and alerts, a gRPC server for Nebius, a
# pooler between service and database.
optional=(nginx haproxy caddy chromium chromium-driver python3-selenium prometheus python3-grpcio python3-protobuf
	pgbouncer)

packages_for() {
	case $1 in
	build) echo build-essential meson ninja-build pkg-config libmicrohttpd-dev libjansson-dev libpq-dev \
		libcurl4-openssl-dev zlib1g-dev libssl-dev python3-yaml ;;
	run) echo ca-certificates curl postgresql postgresql-client util-linux ;;
	image) echo ca-certificates tzdata libmicrohttpd12 libjansson4 libpq5 libcurl4 libssl3 zlib1g ;;
	test) echo binutils check clang clang-format curl git jq libclang-rt-14-dev openssl postgresql procps python3 \
		python3-hypothesis python3-jsonschema python3-psycopg2 python3-requests python3-yaml shellcheck systemd \
		"${optional[@]}" ;;
	# Any recent Node will do: one that is there is not replaced.
	node) command -v npm >/dev/null || echo nodejs npm ;;
	*) echo "packages.sh: unknown purpose: $1" >&2; exit 2 ;;
	esac
}

missing=()
for purpose in "$@"; do
	for package in $(packages_for "$purpose"); do
		dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
	done
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" != 0 ]; then
	command -v sudo >/dev/null || { echo "packages.sh: needs root or sudo for: ${missing[*]}" >&2; exit 1; }
	as_root=(sudo)
fi
# No cluster of the distribution's own: the service keeps a private one.
if ! [ -e /etc/postgresql-common/createcluster.conf ]; then
	"${as_root[@]}" mkdir -p /etc/postgresql-common
	echo 'create_main_cluster = false' | "${as_root[@]}" tee /etc/postgresql-common/createcluster.conf >/dev/null
fi
# Only promtool is wanted: a Prometheus that runs would take the ops port.
if [[ " ${missing[*]} " == *" prometheus "* ]] && [ -d /etc/systemd/system ]; then
	"${as_root[@]}" ln -s /dev/null /etc/systemd/system/prometheus.service 2>/dev/null || true
fi
"${as_root[@]}" apt-get update -qq >&2
for i in "${!missing[@]}"; do
	if [[ " ${optional[*]} " == *" ${missing[i]} "* ]] && ! apt-cache show "${missing[i]}" >/dev/null 2>&1; then
		echo "packages.sh: there is no ${missing[i]} here: the tests behind it are skipped" >&2
		unset "missing[i]"
	fi
done
[ ${#missing[@]} -gt 0 ] || exit 0
echo "installing: ${missing[*]}" >&2
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
	apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
