/*
 * quote.c - names in quotes: no byte that is a terminal's command comes through, in
 * whatever locale.  The first byte of an input chooses that.
 */
#include "fuzz.h"

#include <locale.h>
#include <pfu/report.h>

static void check_clean(const char *text, int utf8)
{
	FUZZ_CHECK(*text);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		FUZZ_CHECK(c >= ' ' && c != 127 && (utf8 || c < 128));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	char *choice = size ? fuzz_string(&in, data[0]) : NULL, *name = fuzz_string(&in, '\0'), *quoted;
	int utf8;

	free(choice);
	if (!name)
		return 0;
	utf8 = (data[0] & 1) && setlocale(LC_ALL, "C.UTF-8");
	if (!utf8)
		setlocale(LC_ALL, "C");
	quoted = pfu_quote_name(name);
	FUZZ_CHECK(quoted && strlen(quoted) >= strlen(name));
	check_clean(quoted, utf8);
	free(quoted);
	quoted = pfu_quote_word(name);
	FUZZ_CHECK(quoted);
	check_clean(quoted, utf8);
	free(quoted);
	if (!pfu_quote_needed(name))
		check_clean(name, utf8);
	free(name);
	return 0;
}
