/* Reads: see reads.h. Here routes meet the store, which neither they nor handlers include. */
#include "server/reads.h"

#include "server/store/store.h"

bool reads_history(struct store *store, void *wanted, struct arena *arena, int timeout_ms,
		   struct error *error)
{
	return store_read_history(store, wanted, arena, timeout_ms, error);
}
