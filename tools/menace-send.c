/* SPDX-License-Identifier: Apache-2.0 */
/*
 * menace-send: bodies of OTLP requests from standard input to a receiver
 *
 * What `menace export --format otlp` writes, a request a line.  A program of its own:
 * libcurl comes with thirty shared objects, which nothing else of ours shall load.
 *
 *   main
 *     take_options          into struct send
 *     send_lines            one line, one request; stops when nothing can be delivered
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/inherit.h"
#include "runtime/base/io.h"
#include "runtime/base/log.h"
#include "runtime/base/patience.h"
#include "runtime/base/str.h"
#include "runtime/base/units.h"
#include "runtime/export/send.h"
#include "tools/optable.h"

#define LINE_MAX_BYTES ((size_t)64 << 20) /* what receivers are advised to take */
#define HEADER_FILE_MAX ((size_t)64 << 10)
#define TIMEOUT_MAX_MS UINT64_C(3600000)
#define RETRIES_MAX 100
#define WAIT_MAX_MS UINT64_C(60000)

enum { ENDPOINT, HEADER, CA, TIMEOUT, RETRIES, RETRY_WAIT, HELP };

#define ROW(name, arg, help)                 \
	{                                    \
		NULL, name, 0, arg, help, -1 \
	}
static const struct mr_cli_option rows[] = {
	[ENDPOINT] =
		ROW("endpoint", "URL", "the receiver; /v1/metrics and /v1/logs are put behind it"),
	[HEADER] = ROW("header", "HEADER",
		       "\"Name: value\" to send along, or @FILE with one a line; may be repeated"),
	[CA] = ROW("ca", "FILE", "trust these certificates (PEM) instead of the system's"),
	[TIMEOUT] = ROW("timeout", "TIME", "of one request; 30s if not given"),
	[RETRIES] = ROW("retries", "N", "tries after the first; 5 if not given"),
	[RETRY_WAIT] =
		ROW("retry-wait", "TIME", "before the first retry, doubling; 1s if not given"),
	[HELP] = ROW("help", NULL, "print this help"),
};
#undef ROW
static const struct mr_optable table = MR_OPTABLE(rows);

struct send {
	struct mr_send_opts opts;
	char **headers; /* owned, as are the texts */
	size_t n_headers, cap;
	bool help;
};

struct books {
	uint64_t accepted, partly, refused; /* lines */
	uint64_t rejected; /* data points and records of those */
};

/* --- options --------------------------------------------------------------- */

static void add_header(struct send *send, const char *text, size_t size)
{
	send->headers =
		mr_str_grow(send->headers, send->n_headers, &send->cap, sizeof(*send->headers));
	send->headers[send->n_headers++] = mr_str_ndup(text, size);
}

static int take_header(struct send *send, const char *arg, struct mr_error *err)
{
	mr_auto_free char *text = NULL;
	size_t size = 0;
	int r;

	if (arg[0] != '@') {
		add_header(send, arg, strlen(arg));
		return 0;
	}
	r = mr_read_whole_file(arg + 1, HEADER_FILE_MAX, &text, &size, err);
	if (r < 0)
		return r;
	if (strlen(text) != size)
		return mr_err(err, MR_E_USAGE, EINVAL, "%s has a null byte in it", arg + 1);
	for (const char *line = text; *line;) {
		size_t n = strcspn(line, "\r\n");

		if (n > 0)
			add_header(send, line, n);
		line += n + strspn(line + n, "\r\n");
	}
	return 0;
}

static int take_bounded(uint64_t value, uint64_t min, uint64_t max, uint64_t *ret,
			struct mr_error *err)
{
	if (value < min || value > max)
		return mr_err(err, MR_E_USAGE, ERANGE, "accepted: %" PRIu64 " to %" PRIu64, min,
			      max);
	*ret = value;
	return 0;
}

static int take_time(const char *arg, uint64_t max, uint64_t *ret, struct mr_error *err)
{
	uint64_t ms = 0;
	int r = mr_units_parse_timespan(arg, true, &ms, err);

	if (r < 0)
		return r;
	r = take_bounded(ms, 1, max, ret, err);
	return r < 0 ? mr_err_wrap(err, r, "milliseconds") : 0;
}

static int take_option(struct send *send, size_t row, const char *arg, struct mr_error *err)
{
	uint64_t number = 0;
	int r;

	switch (row) {
	case ENDPOINT:
		send->opts.endpoint = arg;
		return 0;
	case HEADER:
		return take_header(send, arg, err);
	case CA:
		send->opts.ca = arg;
		return 0;
	case TIMEOUT:
		return take_time(arg, TIMEOUT_MAX_MS, &send->opts.timeout_ms, err);
	case RETRIES:
		r = mr_units_parse_count(arg, &number, err);
		return r < 0 ? r : take_bounded(number, 0, RETRIES_MAX, &send->opts.retries, err);
	case RETRY_WAIT:
		return take_time(arg, WAIT_MAX_MS, &send->opts.wait_ms, err);
	default: /* HELP */
		send->help = true;
		return 0;
	}
}

static int take_options(struct send *send, int argc, char **argv, struct mr_error *err)
{
	mr_auto_free struct mr_optable_met *met = NULL;
	bool dashes = false;
	size_t n = 0;
	int r = mr_optable_collect(&table, argc, argv, &met, &n, &dashes, err);

	for (size_t i = 0; i < n && r == 0; i++) {
		r = take_option(send, met[i].row, met[i].arg, err);
		if (r < 0)
			mr_err_wrap(err, r, "--%s", rows[met[i].row].name);
	}
	if (r == 0 && !send->opts.endpoint && !send->help)
		return mr_err(err, MR_E_USAGE, EINVAL, "say where to with --endpoint URL");
	return r;
}

/* --- lines ----------------------------------------------------------------- */

/* One line without its end: 0, 1 when there is no more, MR_E_USAGE when it is too long. */
static int read_line(char **line, size_t *cap, size_t *ret_size, struct mr_error *err)
{
	size_t n = 0;
	int c;

	while ((c = getc_unlocked(stdin)) != EOF && c != '\n') {
		if (n == LINE_MAX_BYTES)
			return mr_err(err, MR_E_USAGE, EMSGSIZE, "is longer than %zu bytes",
				      LINE_MAX_BYTES);
		*line = mr_str_grow(*line, n, cap, 1);
		(*line)[n++] = (char)c;
	}
	if (ferror(stdin))
		return mr_err(err, MR_E_SYS, errno, "standard input: %m");
	if (c == EOF && n > 0)
		return mr_err(err, MR_E_USAGE, EINVAL, "has no end: what was written is cut off");
	*ret_size = n;
	return c == EOF;
}

static const char *path_of(const char *line, size_t size)
{
	static const struct {
		const char *begin, *path;
	} known[] = { { "{\"resourceMetrics\":", "/v1/metrics" },
		      { "{\"resourceLogs\":", "/v1/logs" } };

	for (size_t i = 0; i < N_ELEMENTS(known); i++)
		if (size > strlen(known[i].begin) &&
		    memcmp(line, known[i].begin, strlen(known[i].begin)) == 0)
			return known[i].path;
	return NULL;
}

static int send_line(struct mr_sender *sender, const char *line, size_t size, struct books *books,
		     struct mr_error *err)
{
	const char *path = path_of(line, size);
	uint64_t rejected = 0;
	int r;

	if (!path)
		return mr_err(err, MR_E_USAGE, EINVAL, "is no body of an OTLP request");
	r = mr_sender_post(sender, path, line, size, &rejected, err);
	if (r < 0)
		return r;
	books->accepted += r == MR_SEND_ACCEPTED;
	books->partly += r == MR_SEND_PARTLY;
	books->refused += r == MR_SEND_REFUSED;
	books->rejected += rejected;
	return r;
}

static int send_lines(struct mr_sender *sender, struct books *books, struct mr_error *err)
{
	mr_auto_free char *line = NULL;
	size_t cap = 0, size = 0;
	int r = 0;

	for (uint64_t n = 1; r >= 0; n++) {
		r = read_line(&line, &cap, &size, err);
		if (r > 0)
			return 0;
		if (r == 0)
			r = send_line(sender, line, size, books, err);
		if (r < 0)
			return mr_err_wrap(err, r, "line %" PRIu64, n);
		if (r > 0)
			mr_log_warn("line %" PRIu64 ": %s", n, err->msg);
	}
	return r;
}

static int run(struct send *send, struct mr_error *err)
{
	struct mr_sender *sender = NULL;
	struct books books = { 0 };
	int r;

	send->opts.headers = (const char *const *)send->headers;
	send->opts.n_headers = send->n_headers;
	r = mr_sender_new(&send->opts, &sender, err);
	if (r < 0)
		return r;
	r = send_lines(sender, &books, err);
	mr_log_notice("%" PRIu64 " lines accepted, %" PRIu64 " in part, %" PRIu64
		      " refused; %" PRIu64 " points and records rejected; %" PRIu64 " requests",
		      books.accepted, books.partly, books.refused, books.rejected,
		      mr_sender_requests(sender));
	mr_sender_free(sender);
	if (r < 0)
		return mr_err_wrap(err, r, "this and all behind it was not delivered");
	return books.partly > 0 || books.refused > 0;
}

static void print_help(void)
{
	char buf[4096];
	struct mr_str text;

	mr_str_init(&text, buf, sizeof(buf));
	mr_str_add(&text, "Usage: menace-send --endpoint URL [OPTIONS] <FILE\n"
			  "Send what menace export --format otlp wrote.\n\n");
	mr_optable_help(&table, &text);
	fputs(buf, stdout);
}

int main(int argc, char **argv)
{
	struct send send = { .opts = { .timeout_ms = MR_PATIENCE_MS(SEND_ANSWER),
				       .retries = 5,
				       .wait_ms = MR_PATIENCE_MS(SEND_RETRY) } };
	struct mr_error err = MR_ERROR_INIT;
	int r;

	mr_log_init("menace-send", MR_LOG_NOTICE, MR_LOG_TEXT);
	signal(SIGPIPE, SIG_IGN); /* a receiver that goes away is an error like others */
	r = mr_inherit_settle(&err);
	if (r == 0)
		r = take_options(&send, argc, argv, &err);
	if (r == 0 && send.help)
		print_help();
	else if (r == 0)
		r = run(&send, &err);
	for (size_t i = 0; i < send.n_headers; i++)
		free(send.headers[i]);
	free(send.headers);
	if (r >= 0)
		return r;
	mr_log_error("%s", err.msg);
	return mr_errc_exit_status(err.code);
}
