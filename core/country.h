/*
 * Country: in which country a provider's region lies, where its feed does not tell. By an exact
 * table (data/countries.inc) and nothing else: a region that it does not have stays unknown.
 */
#ifndef CORE_COUNTRY_H
#define CORE_COUNTRY_H

#include <stdbool.h>

#define COUNTRY_TEXT 3 /* an ISO 3166 alpha-2 code and its terminator */

/* The code of the country of that region, in `out`; false, and "", when it is not known. */
bool country_of_region(const char *provider, const char *region, char out[COUNTRY_TEXT]);

/* Two letters as a code, in capitals, and "UK" as what it means; false, and "", for anything else.
 */
bool country_read(const char *text, char out[COUNTRY_TEXT]);

/* Is it a country's? "EU" and "XX" are not. */
bool country_is_assigned(const char code[COUNTRY_TEXT]);

#endif
