/* Table: answers as text for a person, on standard output. */
#ifndef SERVER_API_TABLE_H
#define SERVER_API_TABLE_H

#include "core/recommend.h"
#include "core/sizing.h"
#include "server/json/request_input.h"

#include <stdio.h>

void table_sizing(FILE *stream, const struct request_input *input, const struct sizing *sizing);
void table_recommendations(FILE *stream, const struct request_input *input,
			   const struct recommend_answer *answer, const struct catalogue *catalogue,
			   int64_t now_us);

#endif
