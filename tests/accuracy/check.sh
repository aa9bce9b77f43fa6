#!/usr/bin/env bash
# The recorded figures (core/data/accuracy.inc) must not get worse, and enough rows must be compared. Skipped
# without the measurements. usage: check.sh PROGRAM
set -u
truth=()
. "$(dirname "$0")/truth.sh"
[ ${#truth[@]} -eq 6 ] || exit 77
exec "$1" "${truth[@]}" --check
