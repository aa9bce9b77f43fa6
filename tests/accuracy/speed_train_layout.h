/* How a training row of throughput.csv was spread over its GPUs. */
#ifndef TESTS_ACCURACY_SPEED_TRAIN_LAYOUT_H
#define TESTS_ACCURACY_SPEED_TRAIN_LAYOUT_H

#include "core/memory.h"
#include "core/speed.h"
#include "tests/accuracy/request.h"

/* Software of before mid-2022: neither fused attention nor selective recomputation. */
bool speed_row_is_before_fused_attention(const struct row *row);

/* What the row says of the layout; degrees that it does not say stay 0. */
enum skip speed_train_layout(const struct row *row, const struct request *request,
			     struct layout *layout);

struct train_search {
	const struct row *row;
	struct request *request; /* its layout is what the row says */
	const struct speed_basis *basis;
	struct memory_basis memory;
	bool must_fit, found;
	struct layout layout; /* the best */
	struct speed_estimate speed;
};

/* The best layout that leaves what the row says; one that fits if any does. What is open of
 * sharding and offload goes as far as the memory asks. */
void speed_train_search(struct train_search *search);

#endif
