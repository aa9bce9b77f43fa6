/*
 * The main() of fuzz targets in ordinary builds: runs each file that it is given, then the same
 * with random bytes changed, cut out or repeated (always the same ones). No fuzzer, but it keeps
 * targets and corpora alive where there is none.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INPUT_BYTES_MAX ((size_t)4 << 20)
#define ROUNDS 40

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t state = 88172645463325252u;

static size_t roll(size_t sides)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return sides ? (size_t)(state % sides) : 0;
}

static void mutate(uint8_t *bytes, size_t *length)
{
	static const char spice[] = "0123456789\"\\{}[],:.-eE+ntf \x80\xff";

	for (size_t changes = 1 + roll(6); changes && *length > 2; changes--) {
		size_t at = 1 + roll(*length - 1), run = 1 + roll(*length - at);

		switch (roll(4)) {
		case 0:
			bytes[at] = (uint8_t)spice[roll(sizeof(spice) - 1)];
			break;
		case 1:
			bytes[at] ^= (uint8_t)(1u << roll(8));
			break;
		case 2:
			run = run > 40 ? 40 : run;
			memmove(bytes + at, bytes + at + run, *length - at - run);
			*length -= run;
			break;
		default:
			*length = at + roll(*length - at);
			break;
		}
	}
}

static int run_file(const char *path)
{
	FILE *file = fopen(path, "rbe");
	uint8_t *bytes = malloc(INPUT_BYTES_MAX), *copy = malloc(INPUT_BYTES_MAX);
	size_t length;

	if (!file || !bytes || !copy) {
		fprintf(stderr, "cannot read %s\n", path);
		return EXIT_FAILURE;
	}
	length = fread(bytes, 1, INPUT_BYTES_MAX, file);
	fclose(file);
	LLVMFuzzerTestOneInput(bytes, length);
	for (int round = 0; round < ROUNDS; round++) {
		size_t changed = length;

		memcpy(copy, bytes, length);
		mutate(copy, &changed);
		LLVMFuzzerTestOneInput(copy, changed);
	}
	free(bytes);
	free(copy);
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: %s FILE...\n", argv[0]);
		return EXIT_FAILURE;
	}
	for (int i = 1; i < argc; i++)
		if (run_file(argv[i]) != EXIT_SUCCESS)
			return EXIT_FAILURE;
	printf("%d files\n", argc - 1);
	return EXIT_SUCCESS;
}
