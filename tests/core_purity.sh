#!/usr/bin/env bash
# Core is pure: its archive imports nothing but memory, strings, formatting into memory, sorting and
# mathematics. usage: core_purity.sh ARCHIVE
set -u
archive=$1
# (clang turns memcmp() == 0 into bcmp().)
allowed='^(malloc|calloc|realloc|free|bcmp|mem(cpy|move|set|cmp|chr)|__mem(cpy|move|set)_chk|str(len|nlen|cmp|ncmp|chr|rchr|str|casecmp|ncasecmp|spn|cspn|pbrk|tod|tol|toul|toll|toull)|__isoc23_strto[a-z]+|__v?snprintf_chk|v?snprintf|qsort|bsearch|abort|__assert_fail|__stack_chk_fail|__ctype_(b|tolower|toupper)_loc|tolower|toupper|abs|labs|_GLOBAL_OFFSET_TABLE_|(ceil|floor|fabs|fmax|fmin|fmod|round|lround|llround|trunc|rint|lrint|sqrt|cbrt|exp|exp2|expm1|log|log2|log10|log1p|pow|hypot|erf|erfc|nan|isnan|isinf|ldexp|frexp|scalbn|tanh)f?)$'
# Sanitizers and coverage add imports of their own.
instrumented='^(__(asan|ubsan|tsan|sanitizer|gcov|llvm|sancov)_|_GLOBAL__|__gcov)'
defined=$(nm --defined-only "$archive" 2>/dev/null | awk 'NF == 3 { print $3 }' | sort -u)
bad=$(nm --undefined-only "$archive" 2>/dev/null | awk '$1 == "U" { print $2 }' | sort -u |
	grep -vE "$allowed" | grep -vE "$instrumented" | grep -vxF "$defined")
if [ -n "$bad" ]; then
	echo "core may not use: ${bad//$'\n'/ }"
	exit 1
fi
[ -n "$defined" ] || { echo "no symbols in $archive"; exit 1; }
writable=$(nm "$archive" 2>/dev/null | awk 'NF == 3 && $2 ~ /^[dDbBCG]$/ { print $3 }' |
	grep -vE '^(__|\.|_)' | grep -vE 'asan|ubsan|tsan|gcov' | sort -u)
# Tables of constants with addresses land in .data.rel.ro, which nm also shows as d/D.
readonly_rel=$(objdump -t "$archive" 2>/dev/null | awk '/\.data\.rel\.ro/ { print $NF }' | sort -u)
mutable=$(printf '%s\n' "$writable" | grep -vxF "$readonly_rel" | grep -v '^$')
if [ -n "$mutable" ]; then
	echo "core may not keep mutable globals: ${mutable//$'\n'/ }"
	exit 1
fi
echo "core is pure"
