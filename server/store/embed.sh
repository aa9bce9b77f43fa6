#!/bin/sh
# Writes a C table of the migrations: embed.sh OUT.c 0001_x.sql 0002_y.sql ...
set -eu
out=$1
shift
{
	echo '/* Made by server/store/embed.sh from migrations/. */'
	echo '#include "server/store/migrations.h"'
	for file in "$@"; do
		number=$(basename "$file" | cut -d_ -f1)
		printf 'static const unsigned char sql_%s[] = {' "$number"
		od -An -v -tx1 "$file" | sed 's/ \([0-9a-f][0-9a-f]\)/0x\1,/g'
		echo '0};'
	done
	echo 'const struct migration migrations[] = {'
	for file in "$@"; do
		name=$(basename "$file" .sql)
		number=${name%%_*}
		printf '\t{%d, "%s", (const char *)sql_%s},\n' "$(echo "$number" | sed 's/^0*//')" "$name" "$number"
	done
	echo '};'
	echo 'const size_t migrations_count = sizeof(migrations) / sizeof(migrations[0]);'
} >"$out"
