/*
 * Load: the same request over and over on kept-alive connections, one under way on each.
 *
 *   http_load HOST:PORT CONNECTIONS SECONDS FIRST FILE...
 *
 * Each FILE holds one request; they take turns. Every '#' in it is a digit of a number that grows
 * by one with each request, from FIRST on, so that no two requests need be alike. Prints one line:
 * requests, seconds, median and 99th percentile of latency in microseconds, failures (answers that
 * are neither 200 nor 304, and broken connections), bytes of the last body.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define ANSWER_BYTES_MAX ((size_t)1 << 20)
#define REQUEST_BYTES_MAX 65536
#define CONNECTIONS_MAX 1024
#define KINDS_MAX 32
#define LATENCIES_MAX 4000000
#define NS_PER_SECOND INT64_C(1000000000)

struct client {
	int fd;
	int64_t sent_ns;
	size_t got;
	char *answer;
};

static struct client clients[CONNECTIONS_MAX];
static struct {
	char text[REQUEST_BYTES_MAX];
	size_t length;
} kinds[KINDS_MAX];
static size_t kinds_count;
static uint32_t *latencies; /* nanoseconds */
static size_t requests, failures, body_bytes;
static uint64_t number;

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NS_PER_SECOND + now.tv_nsec;
}

static void die(const char *what)
{
	fprintf(stderr, "http_load: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void send_next(struct client *client)
{
	static char text[REQUEST_BYTES_MAX];
	uint64_t left = number / kinds_count;
	size_t kind = number++ % kinds_count, length = kinds[kind].length;

	memcpy(text, kinds[kind].text, length);
	for (size_t i = length; i > 0; i--) {
		if (text[i - 1] != '#')
			continue;
		text[i - 1] = (char)('0' + left % 10);
		left /= 10;
	}
	client->got = 0;
	client->sent_ns = now_ns();
	if (send(client->fd, text, length, MSG_NOSIGNAL) != (ssize_t)length)
		die("send");
}

/* Of a 304 the length is that of a body which is not sent. */
static bool is_whole(const struct client *client, bool *is_good)
{
	const char *end = memmem(client->answer, client->got, "\r\n\r\n", 4), *field;
	size_t head, length = 0;

	if (!end)
		return false;
	head = (size_t)(end + 4 - client->answer);
	*is_good = memcmp(client->answer + 9, "200", 3) == 0;
	if (memcmp(client->answer + 9, "304", 3) == 0) {
		*is_good = true;
		body_bytes = 0;
		return true;
	}
	field = strcasestr(client->answer, "\ncontent-length:");
	if (field && field < end)
		length = strtoul(field + 16, NULL, 10);
	body_bytes = length;
	return client->got >= head + length;
}

static void receive(struct client *client)
{
	ssize_t got = recv(client->fd, client->answer + client->got,
			   ANSWER_BYTES_MAX - 1 - client->got, 0);
	bool is_good;

	if (got <= 0)
		die("the server hung up");
	client->got += (size_t)got;
	client->answer[client->got] = '\0';
	if (!is_whole(client, &is_good))
		return;
	if (requests < LATENCIES_MAX)
		latencies[requests] = (uint32_t)(now_ns() - client->sent_ns);
	requests++;
	failures += !is_good;
	send_next(client);
}

static void open_client(struct client *client, const struct sockaddr_in *address, int epoll)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = client};
	int yes = 1;

	client->answer = malloc(ANSWER_BYTES_MAX);
	client->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (!client->answer || client->fd < 0 ||
	    connect(client->fd, (const struct sockaddr *)address, sizeof(*address)) != 0)
		die("connect");
	setsockopt(client->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, client->fd, &event) != 0)
		die("epoll_ctl");
}

static int compare(const void *left, const void *right)
{
	const uint32_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static double percentile_us(size_t count, double part)
{
	return count ? latencies[(size_t)((double)(count - 1) * part)] / 1e3 : 0;
}

static void read_request(const char *path)
{
	FILE *file = fopen(path, "rb");

	if (!file)
		die(path);
	kinds[kinds_count].length = fread(kinds[kinds_count].text, 1, REQUEST_BYTES_MAX, file);
	kinds_count++;
	fclose(file);
}

static struct sockaddr_in read_address(const char *text)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	const char *colon = strchr(text, ':');
	char host[64];

	snprintf(host, sizeof(host), "%.*s", colon ? (int)(colon - text) : 0, text);
	if (!colon || inet_pton(AF_INET, host, &address.sin_addr) != 1)
		die("not HOST:PORT");
	address.sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
	return address;
}

int main(int argc, char **argv)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC), count = argc > 2 ? atoi(argv[2]) : 0;
	int64_t began_ns, end_ns, taken_ns;
	struct sockaddr_in address;
	size_t measured;

	if (argc < 6 || argc > 5 + KINDS_MAX || count < 1 || count > CONNECTIONS_MAX)
		return 2;
	address = read_address(argv[1]);
	number = strtoull(argv[4], NULL, 10);
	for (int i = 5; i < argc; i++)
		read_request(argv[i]);
	latencies = malloc(LATENCIES_MAX * sizeof(*latencies));
	if (epoll < 0 || !latencies)
		die("memory");
	for (int i = 0; i < count; i++)
		open_client(&clients[i], &address, epoll);
	began_ns = now_ns();
	end_ns = began_ns + (int64_t)(strtod(argv[3], NULL) * 1e9);
	for (int i = 0; i < count; i++)
		send_next(&clients[i]);
	while (now_ns() < end_ns) {
		struct epoll_event events[256];
		int ready = epoll_wait(epoll, events, 256, 1000);

		for (int i = 0; i < ready; i++)
			receive(events[i].data.ptr);
	}
	taken_ns = now_ns() - began_ns;
	measured = requests < LATENCIES_MAX ? requests : LATENCIES_MAX;
	qsort(latencies, measured, sizeof(*latencies), compare);
	printf("%zu %.6f %.1f %.1f %zu %zu\n", requests, (double)taken_ns / 1e9,
	       percentile_us(measured, 0.5), percentile_us(measured, 0.99), failures, body_bytes);
	return 0;
}
