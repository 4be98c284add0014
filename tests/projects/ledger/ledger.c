/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ledger in a file: ledger FILE CURRENCY... <records adds "NAME AMOUNT" lines, and prints the sum of
 * all, in the ledger's own currency and in each of the others by the rate that a service has
 *
 * ledger.conf has lines "KEY=VALUE": currency, and host, where the service is asked for /v1/CURRENCY.
 * LEDGER_TIMEOUT are the seconds that an answer may take, LEDGER_PAUSE the milliseconds that the service
 * is left alone between two requests.  A currency without a usable rate is left out.
 *
 * Planted: a name is copied into 96 bytes, however long it is; a line of the configuration is taken to have
 * a "=" in it.
 */

#include <errno.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define TRIES 5

struct entry {
	char name[96];
	long amount;
};

struct configuration {
	char currency[8], host[64];
	long timeout_s, pause_ms;
};

/* --- the ledger ---------------------------------------------------------------------------- */

static bool parse_amount(const char *text, long *amount)
{
	char *end;

	errno = 0;
	*amount = strtol(text, &end, 10);
	return end != text && *end == '\0' && errno == 0 && *amount > -1000000000 &&
	       *amount < 1000000000;
}

/* NAME AMOUNT; false if it is none. */
static bool parse_entry(char *line, struct entry *entry)
{
	char *space = strrchr(line, ' ');

	if (!space || space == line || !parse_amount(space + 1, &entry->amount))
		return false;
	*space = '\0';
	memcpy(entry->name, line, strlen(line) + 1);
	return true;
}

static bool append(FILE *ledger, const struct entry *entry)
{
	return fprintf(ledger, "%s %ld\n", entry->name, entry->amount) > 0;
}

/* Adds what standard input has; the number of lines that are no entries, or -1. */
static int add_all(FILE *ledger)
{
	char *line = NULL;
	size_t size = 0;
	ssize_t length;
	int rejected = 0;

	while ((length = getline(&line, &size, stdin)) >= 0) {
		struct entry entry = { 0 };

		if (length && line[length - 1] == '\n')
			line[length - 1] = '\0';
		if (!parse_entry(line, &entry))
			rejected++;
		else if (!append(ledger, &entry))
			break;
	}
	free(line);
	return length < 0 ? rejected : -1;
}

static long sum_of(FILE *ledger)
{
	char *line = NULL;
	size_t size = 0;
	long sum = 0;

	rewind(ledger);
	while (getline(&line, &size, ledger) >= 0) {
		struct entry entry;
		char *end = strchr(line, '\n');

		if (end)
			*end = '\0';
		if (parse_entry(line, &entry))
			sum += entry.amount;
	}
	free(line);
	return sum;
}

/* --- configuration ------------------------------------------------------------------------- */

static void read_configuration(struct configuration *c)
{
	FILE *file = fopen("ledger.conf", "r");
	const char *timeout = getenv("LEDGER_TIMEOUT"), *pause = getenv("LEDGER_PAUSE");
	char line[64];

	while (file && fgets(line, sizeof(line), file)) {
		char *equals = strchr(line, '=');

		*equals = '\0';
		equals[1 + strcspn(equals + 1, "\n")] = '\0';
		if (strcmp(line, "currency") == 0)
			snprintf(c->currency, sizeof(c->currency), "%s", equals + 1);
		else if (strcmp(line, "host") == 0)
			snprintf(c->host, sizeof(c->host), "%s", equals + 1);
	}
	if (file)
		fclose(file);
	if (!timeout || !parse_amount(timeout, &c->timeout_s) || c->timeout_s < 1)
		c->timeout_s = 15;
	if (!pause || !parse_amount(pause, &c->pause_ms) || c->pause_ms < 0)
		c->pause_ms = 0;
}

/* --- rates --------------------------------------------------------------------------------- */

static int connect_to(const struct configuration *c, const struct addrinfo *where)
{
	const struct timeval timeout = { .tv_sec = c->timeout_s };
	int fd = socket(where->ai_family, SOCK_STREAM, 0);

	if (fd < 0)
		return -1;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) == 0 &&
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout)) == 0 &&
	    connect(fd, where->ai_addr, where->ai_addrlen) == 0)
		return fd;
	close(fd);
	return -1;
}

/* A request on a connection of its own; the whole answer, or false. */
static bool ask(const struct configuration *c, const struct addrinfo *where, const char *currency,
		char answer[4096])
{
	char request[256];
	const int length = snprintf(request, sizeof(request),
				    "GET /v1/%.8s HTTP/1.0\r\nHost: %s\r\n\r\n", currency, c->host);
	int fd = connect_to(c, where);
	ssize_t n = fd < 0 ? -1 : send(fd, request, (size_t)length, MSG_NOSIGNAL);
	size_t size = 0;

	while (n > 0 && size < 4095) {
		n = recv(fd, answer + size, 4095 - size, 0);
		size += n > 0 ? (size_t)n : 0;
	}
	answer[size] = '\0';
	if (fd >= 0)
		close(fd);
	return n == 0;
}

/* The rate in an answer; 0: there is none. */
static double rate_in(const char *answer)
{
	const char *field = strstr(answer, "\"rate\":");
	const double rate = field ? strtod(field + strlen("\"rate\":"), NULL) : 0;

	return rate > 0 && rate < 1e6 ? rate : 0;
}

static double rate_of(const struct configuration *c, const struct addrinfo *where,
		      const char *currency)
{
	char answer[4096];

	for (int i = 0; i < TRIES; i++)
		if (ask(c, where, currency, answer) && strncmp(answer, "HTTP/1.", 7) == 0 &&
		    strncmp(answer + 8, " 200 ", 5) == 0)
			return rate_in(answer);
	return 0;
}

static struct addrinfo *look_up(const struct configuration *c)
{
	const struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM };
	struct addrinfo *where = NULL;

	for (int i = 0; i < TRIES && !where; i++)
		if (getaddrinfo(c->host, "80", &hints, &where) != 0)
			where = NULL;
	return where;
}

static void leave_alone(const struct configuration *c)
{
	const struct timespec pause = { .tv_sec = c->pause_ms / 1000,
					.tv_nsec = c->pause_ms % 1000 * 1000000 };

	nanosleep(&pause, NULL);
}

static void print_in(const struct configuration *c, long sum, char **currencies)
{
	struct addrinfo *where = *currencies ? look_up(c) : NULL;

	for (; where && *currencies; currencies++) {
		const double rate = rate_of(c, where, *currencies);

		if (rate > 0)
			printf("%.2f%s\n", (double)sum * rate, *currencies);
		else
			printf("no rate of %s\n", *currencies);
		leave_alone(c);
	}
	if (where)
		freeaddrinfo(where);
}

int main(int argc, char **argv)
{
	struct configuration configuration = { 0 };
	FILE *ledger = argc > 1 ? fopen(argv[1], "a+") : NULL;
	int rejected;
	long sum;

	read_configuration(&configuration);
	if (!ledger) {
		perror(argc > 1 ? argv[1] : "usage: ledger FILE CURRENCY...");
		return 2;
	}
	rejected = add_all(ledger);
	if (rejected < 0 || fflush(ledger) || fsync(fileno(ledger))) {
		perror(argv[1]);
		return 1;
	}
	sum = sum_of(ledger);
	printf("%ld%s, %d rejected\n", sum, configuration.currency, rejected);
	print_in(&configuration, sum, argv + 2);
	return fclose(ledger) ? 1 : 0;
}
