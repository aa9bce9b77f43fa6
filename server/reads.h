/* Reads: what routes let the pool read (server/later.h), each of the store's in the pool's shape.
 */
#ifndef SERVER_READS_H
#define SERVER_READS_H

#include "server/later.h"

later_read reads_history; /* wanted: struct history */

#endif
