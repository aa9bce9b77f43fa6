/* Problem: an error value as application/problem+json (RFC 9457); the only file that knows both. */
#ifndef SERVER_HTTP_PROBLEM_H
#define SERVER_HTTP_PROBLEM_H

#include "server/http/request.h"

unsigned problem_status(enum error_code code);

/* Fills `reply`. `request` may be NULL (failures before one exists). */
void problem_reply(const struct error *error, const struct request *request, struct reply *reply);

#endif
