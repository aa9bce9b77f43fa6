#!/usr/bin/env bash
# Builds a program of this folder in ./build (or $GPUPICK_BUILD) and runs it; without a table of its own, on those
# of ../shared/truth. Exit status 77 where there are none. usage: launch.sh PROGRAM [option ...]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
build=${GPUPICK_BUILD:-$root/build}
program=$1
shift
truth=()
case " $* " in
*" --memory "* | *" --throughput "* | *" --fit "* | *" --help "*) ;;
*)
	. "$here/truth.sh"
	[ ${#truth[@]} -gt 0 ] || exit 77
	;;
esac
[ -e "$build/build.ninja" ] || meson setup "$build" "$root" >&2
ninja -C "$build" "tests/accuracy/$program" >&2
exec "$build/tests/accuracy/$program" "${truth[@]}" "$@"
