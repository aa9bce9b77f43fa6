/* The verb `gpupick key`: makes, lists and revokes API keys, in the database or in a file. */
#ifndef SERVER_VERB_KEY_H
#define SERVER_VERB_KEY_H

#include "server/config.h"

/* `argv` after the verb; the exit status. */
int verb_key(const struct config *config, int argc, char **argv);

#endif
