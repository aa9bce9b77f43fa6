#!/bin/sh
# Writes the bundled price list as a C array: embed.sh OUT.c LIST.csv
set -eu
{
	echo '/* Made by server/ingest/embed.sh. */'
	echo '#include "server/ingest/bundled.h"'
	echo 'static const char list[] = {'
	od -An -v -tx1 "$2" | sed 's/ \([0-9a-f][0-9a-f]\)/0x\1,/g'
	echo '0};'
	echo 'const char *bundled_csv(size_t *length)'
	echo '{'
	echo '	*length = sizeof(list) - 1;'
	echo '	return list;'
	echo '}'
} >"$1"
