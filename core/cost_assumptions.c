/* Cost assumptions: the table and how one is set: see cost_assumptions.h. */
#include "core/cost_assumptions.h"

const struct cost_assumption_field cost_assumption_fields[ASSUMPTIONS] = {
#define X(field, value, least, most)                                                               \
	[ASSUMPTION_##field] = {#field, offsetof(struct cost_assumptions, field), least, most},
	COST_ASSUMPTIONS(X)
#undef X
};

const struct cost_assumptions cost_assumptions_default = {
#define X(field, value, least, most) .field = value,
	COST_ASSUMPTIONS(X)
#undef X
};

bool cost_assumption_set(struct cost_assumptions *assumptions, enum cost_assumption_id id,
			 double value)
{
	const struct cost_assumption_field *field = &cost_assumption_fields[id];

	/* Written so that NaN fails too. */
	if (!(value >= field->least && value <= field->most))
		return false;
	*(double *)(void *)((char *)assumptions + field->offset) = value;
	assumptions->given |= 1u << id;
	return true;
}
