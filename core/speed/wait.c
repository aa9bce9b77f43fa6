/*
 * Waiting: how long a request stands in a queue before its prompt is taken up.
 *
 * Requests come at random (Poisson). A copy is a queue with as many servers as it holds sequences,
 * each taken for as long as one request lasts: M/M/c, in Sakasegawa's closed form (Annals of the
 * Institute of Statistical Mathematics 29, 1977), which is exact for c = 1 and without a load.
 * Within it prompts are prefilled one after the other, in a time that is always the same: M/D/1
 * (Pollaczek and Khinchine). And whoever comes finds a step half done.
 */
#include "core/speed.h"

#include <math.h>

double speed_wait_seconds(const struct speed_estimate *speed, const struct layout *layout,
			  double utilisation)
{
	double replicas = layout->replicas > 0 ? layout->replicas : 1;
	double servers = fmax(1, layout->sequences), load = fmax(0, utilisation);
	/* Of the prefill alone: prompts that are taken together need less than its time each. */
	double prefill =
		fmin(load, load * speed->requests_per_second / replicas * speed->prefill.seconds);
	/* One request leaves a full copy every so often. */
	double departure = replicas / speed->requests_per_second;

	if (load >= 1)
		return (double)INFINITY;
	return departure * pow(load, sqrt(2 * (servers + 1)) - 1) / (1 - load) +
	       speed->prefill.seconds * prefill / (2 * (1 - prefill)) +
	       load * speed->decode.seconds / 2;
}
