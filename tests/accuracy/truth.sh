# shellcheck shell=bash disable=SC2034
# Sourced: puts the options for the measurements of ../shared/truth into `truth`; empty, and says so, where
# there are none. usage: . truth.sh
truth=()
truth_folder=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/../shared/truth
for pair in memory:memory.csv throughput:throughput.csv fit:memory-fit-constraints.csv; do
	[ -e "$truth_folder/${pair#*:}" ] && truth+=("--${pair%%:*}" "$truth_folder/${pair#*:}")
done
[ ${#truth[@]} -gt 0 ] || echo "accuracy: no measurements at ../shared/truth: nothing to compare" >&2
