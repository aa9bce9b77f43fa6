#!/bin/sh
# Writes the assembler file that puts files into the program: embed.sh OUT.S NAME FILE [NAME FILE]...
# Each becomes the bytes from NAME to NAME_end, with a zero behind them.
set -eu
out=$1
shift
{
	echo '	.section .rodata'
	while [ $# -gt 0 ]; do
		printf '\t.global %s\n\t.global %s_end\n\t.type %s, %%object\n%s:\n' "$1" "$1" "$1" "$1"
		printf '\t.incbin "%s"\n%s_end:\n\t.byte 0\n' "$(realpath "$2")" "$1"
		shift 2
	done
	echo '	.section .note.GNU-stack, "", %progbits'
} >"$out"
