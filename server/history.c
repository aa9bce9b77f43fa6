/* History: the spellings of its enums; see history.h. */
#include "server/history.h"

static const char *const step_texts[] = {"change", "hour", "day", "week"};
static const char *const event_texts[] = {"unknown", "listed", "changed", "withdrawn"};

const struct names history_step_names = {step_texts, HISTORY_STEPS};
const struct names history_event_names = {event_texts, HISTORY_EVENTS};
