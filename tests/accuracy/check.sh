#!/usr/bin/env bash
# The recorded figures (core/data/accuracy.inc) must not get worse. Skipped without the measurements.
# usage: check.sh PROGRAM
set -u
truth=$(dirname "$0")/../../../shared/truth
if [ ! -r "$truth/memory.csv" ] || [ ! -r "$truth/throughput.csv" ]; then
	echo "accuracy: no measurements at ../shared/truth: nothing to compare"
	exit 77
fi
exec "$1" --memory "$truth/memory.csv" --throughput "$truth/throughput.csv" \
	--fit "$truth/memory-fit-constraints.csv" --check
