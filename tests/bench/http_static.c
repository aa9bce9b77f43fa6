/*
 * The least that libmicrohttpd can do, in the mode of server/http/worker.c: one thread, one
 * external epoll daemon, one response made beforehand. What a benchmark of the service is measured
 * against.
 *
 *   http_static STATUS BODY_BYTES    prints "listening PORT" and serves until it is killed
 */
#include <microhttpd.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct MHD_Response *response;
static unsigned status;

static enum MHD_Result answer(void *cls, struct MHD_Connection *connection, const char *url,
			      const char *method, const char *version, const char *data,
			      size_t *data_length, void **state)
{
	static int begun;

	(void)cls;
	(void)url;
	(void)method;
	(void)version;
	(void)data;
	/* An answer in the first call would cost the connection. */
	if (!*state) {
		*state = &begun;
		return MHD_YES;
	}
	if (*data_length > 0) {
		*data_length = 0;
		return MHD_YES;
	}
	return MHD_queue_response(connection, status, response);
}

static void serve(struct MHD_Daemon *server, int epoll)
{
	for (;;) {
		struct pollfd ready = {.fd = epoll, .events = POLLIN};
		MHD_UNSIGNED_LONG_LONG due_ms;
		int wait_ms = MHD_get_timeout(server, &due_ms) == MHD_YES && due_ms < 1000
				      ? (int)due_ms
				      : 1000;

		poll(&ready, 1, wait_ms);
		MHD_run(server);
	}
}

int main(int argc, char **argv)
{
	size_t length = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	struct MHD_Daemon *server;
	char *body = calloc(1, length + 1);

	if (argc != 3 || !body)
		return 2;
	status = (unsigned)strtoul(argv[1], NULL, 10);
	memset(body, 'x', length);
	response = MHD_create_response_from_buffer(length, body, MHD_RESPMEM_PERSISTENT);
	MHD_add_response_header(response, "Content-Type", "application/json");
	server = MHD_start_daemon(
		MHD_USE_EPOLL, 0, NULL, NULL, answer, NULL, MHD_OPTION_CONNECTION_TIMEOUT, 0U,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)32768, MHD_OPTION_END);
	if (!server)
		return 1;
	printf("listening %u\n", MHD_get_daemon_info(server, MHD_DAEMON_INFO_BIND_PORT)->port);
	fflush(stdout);
	serve(server, MHD_get_daemon_info(server, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd);
}
