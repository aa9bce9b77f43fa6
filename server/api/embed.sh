#!/bin/sh
# Writes the assembler file that puts openapi.yaml into the program: embed.sh OPENAPI.YAML OUT.S
set -eu
cat >"$2" <<END
	.section .rodata
	.global openapi_yaml
	.global openapi_yaml_end
	.type openapi_yaml, %object
	.type openapi_yaml_end, %object
openapi_yaml:
	.incbin "$(realpath "$1")"
openapi_yaml_end:
	.byte 0
	.section .note.GNU-stack, "", %progbits
END
