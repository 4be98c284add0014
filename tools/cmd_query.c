/* SPDX-License-Identifier: Apache-2.0 */
/*
 * menace query: one SELECT over the store
 *
 * SQLite looks at the time between the steps of a statement only, and a single call
 * of a function can take days.  So a timer ends the process a moment after the time
 * is over, with the message that was made for that before.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "runtime/base/patience.h"
#include "runtime/store/query.h"
#include "tools/cmd.h"
#include "tools/term.h"

struct query {
	struct mr_cmd_common common;
	int64_t timeout_ms;
	bool headed;
	timer_t timer;
};

static const struct mr_cmd_row rows[] = {
	MR_CMD_ROW("timeout", 't', "TIME", TIMESPAN, query, timeout_ms,
		   "longest time; a bare number is seconds; 10s if not given"),
	MR_CMD_COMMON_ROWS(query),
};

/* --- the end of a call that does not end ------------------------------------ */

/* Static, since a handler of a signal has no owner. */
static struct {
	char line[MR_LOG_LINE_SIZE];
	size_t size;
	int status;
} overdue;

static void end_process(int signo)
{
	(void)signo;
	if (write(STDERR_FILENO, overdue.line, overdue.size) < 0)
		_exit(overdue.status); /* nobody left to tell */
	_exit(overdue.status);
}

static struct timespec span(uint64_t ms)
{
	return (struct timespec){ .tv_sec = (time_t)(ms / 1000),
				  .tv_nsec = (long)(ms % 1000) * 1000000 };
}

static int arm(const struct mr_store *store, uint64_t time_ms, timer_t *ret, struct mr_error *err)
{
	const struct sigaction action = { .sa_handler = end_process, .sa_flags = SA_RESTART };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM };
	const struct itimerspec spec = { .it_value = span(time_ms + MR_PATIENCE_MS(QUERY_MOMENT)) };
	struct mr_error why = MR_ERROR_INIT;
	sigset_t set;

	mr_query_overdue(store, &why);
	overdue.size = mr_log_line(MR_LOG_ERROR, overdue.line, "%s", why.msg);
	overdue.status = mr_errc_exit_status(why.code);
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	if (sigaction(SIGALRM, &action, NULL) < 0 || sigprocmask(SIG_UNBLOCK, &set, NULL) < 0 ||
	    timer_create(CLOCK_MONOTONIC, &event, ret) < 0)
		return mr_err(err, MR_E_SYS, errno, "make the timer of the query: %m");
	if (timer_settime(*ret, 0, &spec, NULL) < 0)
		return mr_err(err, MR_E_SYS, errno, "set the timer of the query: %m");
	return 0;
}

/* --- rows ------------------------------------------------------------------ */

static void print_head(const json_t *row)
{
	const char *name;
	json_t *value;
	bool first = true;

	json_object_foreach ((json_t *)(uintptr_t)row, name, value) {
		if (!first)
			putchar('\t');
		mr_term_put(MR_TERM_BOLD, name);
		first = false;
	}
	putchar('\n');
}

static void print_row(const json_t *row)
{
	const char *name;
	json_t *value;
	bool first = true;

	json_object_foreach ((json_t *)(uintptr_t)row, name, value) {
		mr_auto_free char *text = NULL;

		if (!first)
			putchar('\t');
		first = false;
		if (json_is_string(value)) {
			mr_term_put(MR_TERM_PLAIN, json_string_value(value));
			continue;
		}
		text = json_dumps(value, JSON_ENCODE_ANY);
		mr_term_put(MR_TERM_PLAIN, json_is_null(value) ? "" : text);
	}
	putchar('\n');
}

static int on_row(const json_t *row, void *owner, struct mr_error *err)
{
	struct query *query = owner;
	const struct itimerspec none = { .it_value.tv_sec = 0 };
	struct itimerspec rest;

	/* The time of whoever reads us is not the statement's. */
	if (timer_settime(query->timer, 0, &none, &rest) < 0)
		return mr_err(err, MR_E_SYS, errno, "stop the timer of the query: %m");
	if (query->common.json) {
		mr_cmd_print_line(row);
	} else {
		if (!query->headed)
			print_head(row);
		query->headed = true;
		print_row(row);
	}
	if (timer_settime(query->timer, 0, &rest, NULL) < 0)
		return mr_err(err, MR_E_SYS, errno, "set the timer of the query: %m");
	return 0;
}

static int run(void *values, char **words, struct mr_error *err)
{
	struct query *query = values;
	mr_auto_store struct mr_store *store = NULL;
	uint64_t time_ms = query->timeout_ms == MR_CMD_NOT_GIVEN ? MR_PATIENCE_MS(QUERY)
								 : (uint64_t)query->timeout_ms;
	int r = mr_cmd_open(&query->common, MR_STORE_READ, &store, err);

	if (r < 0)
		return r;
	r = arm(store, time_ms, &query->timer, err);
	if (r < 0)
		return r;
	r = mr_query_adhoc(store, words[0], time_ms, on_row, query, err);
	timer_delete(query->timer);
	return r;
}

const struct mr_cmd mr_cmd_query = {
	.name = "query",
	.synopsis = "SQL",
	.summary = "Answer one SELECT; the tables are in menace-store(5)",
	.options = MR_OPTABLE(rows),
	.size = sizeof(struct query),
	.min_words = 1,
	.max_words = 1,
	.run = run,
};
