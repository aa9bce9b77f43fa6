#!/usr/bin/env bash
# Installs what the tests need, builds with warnings as errors, runs every suite in every build and
# counts. `tests/run.sh` runs all; `tests/run.sh gcc` (clang, sanitize, thread, lint) only those steps.
# Last line: "N passed, N failed". Long fuzzing, soak and benchmarks have commands of their own:
# tests/fuzz/run, tests/bench/run.
set -u
cd "$(dirname "$0")/.." || exit 1
root=$PWD
builds=${GPUPICK_TEST_BUILDS:-$(mktemp -d /tmp/gpupick-tests.XXXXXX)}
export PATH=/usr/bin:/bin:/usr/sbin:/sbin:$PATH # Debian's python3 and meson, not another's
passed=0 failed=0

say() { printf '\n== %s (%s s)\n' "$*" "$SECONDS"; }
clean() { [ -n "${GPUPICK_TEST_BUILDS:-}" ] || rm -rf "$builds"; }
trap clean EXIT

check() { # name, command...
	local name=$1 log=$builds/check.log
	shift
	if "$@" >"$log" 2>&1; then
		passed=$((passed + 1))
		echo "ok      $name"
	else
		failed=$((failed + 1))
		echo "FAILED  $name"
		tail -n 60 "$log"
	fi
}

# Builds and runs the suites; adds meson's own counts to ours.
suites() { # name, suites (comma-separated or all), timeout multiplier, meson options...
	local name=$1 chosen=$2 multiplier=$3 build=$builds/$1 arguments=() count
	shift 3
	say "$name: build"
	check "$name: configure" meson setup "$build" "$root" -Dwerror=true "$@"
	check "$name: compile, warnings as errors" ninja -C "$build" -k 0
	[ -x "$build/server/gpupick" ] || return
	say "$name: tests"
	if [ "$chosen" != all ]; then
		for suite in ${chosen//,/ }; do arguments+=(--suite "$suite"); done
	fi
	meson test -C "$build" --no-rebuild --print-errorlogs --timeout-multiplier "$multiplier" \
		"${arguments[@]}" 2>&1 | tee "$build/tests.log" | grep -vE '^(ninja|Full log)' | tail -n 400
	count=$(awk '/^(Ok|Expected Fail):/ { n += $NF } END { print n + 0 }' "$build/tests.log")
	passed=$((passed + count))
	count=$(awk '/^(Fail|Unexpected Pass|Timeout):/ { n += $NF } END { print n + 0 }' "$build/tests.log")
	failed=$((failed + count))
}

step_lint() {
	say lint
	# shellcheck disable=SC2046
	check "clang-format" clang-format --dry-run -Werror $(git ls-files '*.c' '*.h')
	# shellcheck disable=SC2046
	check "shellcheck" shellcheck -S warning $(git ls-files '*.sh' 'tests/*/run' 'tests/*/fit')
	[ -x tests/api/lint.sh ] && check "OpenAPI linters" tests/api/lint.sh
	check "systemd units" deploy/systemd/verify.sh
}

step_gcc() { suites gcc all 1 -Dbuildtype=release -Db_lto=true; }
step_clang() { CC=clang suites clang core,providers,store,api 1 -Dbuildtype=release; }
step_sanitize() {
	ASAN_OPTIONS=detect_leaks=1:abort_on_error=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
		suites sanitize all 3 -Dbuildtype=debugoptimized -Db_sanitize=address,undefined
}
step_thread() {
	TSAN_OPTIONS=halt_on_error=1 suites thread store,api,gateway 4 -Dbuildtype=debugoptimized -Db_sanitize=thread
}

say install
check "packages" deploy/packages.sh build run test node
for step in "${@:-all}"; do
	case $step in
	all) step_gcc; step_clang; step_sanitize; step_thread; step_lint ;;
	gcc | clang | sanitize | thread | lint) "step_$step" ;;
	*) echo "run.sh: unknown step: $step" >&2; exit 2 ;;
	esac
done
say finished
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
