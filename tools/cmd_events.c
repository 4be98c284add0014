/* SPDX-License-Identifier: Apache-2.0 */
/*
 * menace events: what happened in a run, in the order of time
 *
 * Of a run in the store everything it knows; with --follow of one that goes on, as it
 * happens.  The kernel hands events of different CPUs over almost in order: those that
 * come are held back for a moment and printed by their time.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "runtime/base/patience.h"
#include "runtime/base/str.h"
#include "runtime/store/query.h"
#include "runtime/supervise/follow.h"
#include "runtime/supervise/living.h"
#include "tools/cmd.h"
#include "tools/events.h"

#define HELD_MAX 65536 /* of events held back; far more than there are in that time */
#define TOO_SLOW "this reader was too slow, or the kernel's rings were full"

struct events {
	struct mr_cmd_common common;
	const char *type;
	bool follow;
	struct mr_events out;
};

static const struct mr_cmd_row rows[] = {
	MR_CMD_ROW("follow", 'f', NULL, FLAG, events, follow,
		   "of a run that goes on: what there is, then more as it happens, until it ends"),
	MR_CMD_ROW("type", 't', "TYPE[,TYPE...]", TEXT, events, type,
		   "only these: fork, exec, exit, oom, crash, socket, connect, bind, sendmsg, dns, "
		   "tcp, attempt, open, denial"),
	MR_CMD_COMMON_ROWS(events),
};

/* --- a run in the store ------------------------------------------------------------------ */

static int on_row(const json_t *row, void *owner, struct mr_error *err)
{
	struct events *events = owner;

	(void)err;
	mr_events_print(&events->out, (json_t *)(uintptr_t)row);
	return 0;
}

static json_t *bind_run(const char *run_id)
{
	return json_pack("{s:s}", "run_id", run_id);
}

static int show_stored(struct events *events, struct mr_store *store, const char *run_id,
		       struct mr_error *err)
{
	mr_auto_json json_t *unseen = NULL;
	const char *unknown;
	int r = mr_query_one(store, "run.unseen", bind_run(run_id), &unseen, err);

	if (r != 0)
		return r < 0 ? r : mr_err(err, MR_E_NONE, 0, "run %s is gone", run_id);
	events->out.begin_ns = json_integer_value(json_object_get(unseen, "begin_ns"));
	r = mr_query_each(store, "run.events", bind_run(run_id), on_row, events, err);
	if (r < 0)
		return r;
	mr_events_print_lost(&events->out,
			     (int64_t)json_number_value(json_object_get(unseen, "count")),
			     "there was no room for them, see menace show");
	unknown = json_string_value(json_object_get(unseen, "unknown"));
	if (unknown)
		mr_log_notice("only denials are known of run %s: %s", run_id, unknown);
	return 0;
}

/* --- a run that goes on -------------------------------------------------------------------- */

struct following {
	struct events *events;
	json_t **held; /* by time */
	size_t n, cap;
	bool ended;
};

static int64_t time_of(const json_t *row)
{
	return json_integer_value(json_object_get(row, "boot_ns"));
}

/* Print what happened before that moment. */
static void print_until(struct following *f, int64_t until_ns)
{
	size_t n = 0;

	while (n < f->n && time_of(f->held[n]) < until_ns) {
		mr_events_print(&f->events->out, f->held[n]);
		json_decref(f->held[n++]);
	}
	if (n == 0)
		return;
	memmove(f->held, f->held + n, (f->n - n) * sizeof(json_t *));
	f->n -= n;
	fflush(stdout);
}

/* Their times are the word of a supervisor who may be another user's. */
static void hold(struct following *f, json_t *row)
{
	size_t i;

	if (f->n == HELD_MAX)
		print_until(f, INT64_MAX);
	f->held = mr_str_grow(f->held, f->n, &f->cap, sizeof(json_t *));
	for (i = f->n++; i > 0 && time_of(f->held[i - 1]) > time_of(row); i--)
		f->held[i] = f->held[i - 1];
	f->held[i] = row;
}

/* Takes the reference. */
static void take_message(struct following *f, json_t *row)
{
	const char *type = json_string_value(json_object_get(row, "type"));
	const char *unknown = json_string_value(json_object_get(row, "unknown"));

	if (type && strcmp(type, "hello") == 0) {
		f->events->out.begin_ns = json_integer_value(json_object_get(row, "begin_ns"));
		if (unknown)
			mr_log_notice("only denials are known of this run: %s", unknown);
	} else if (type && strcmp(type, "lost") == 0) {
		print_until(f, INT64_MAX);
		mr_events_print_lost(&f->events->out,
				     json_integer_value(json_object_get(row, "count")), TOO_SLOW);
	} else if (type && strcmp(type, "end") == 0) {
		f->ended = true;
	} else if (json_is_object(row)) {
		hold(f, json_incref(row));
	}
	json_decref(row);
}

/* 1: it has ended. */
static int take_messages(struct following *f, int fd, char *buf, struct mr_error *err)
{
	json_t *row = NULL;
	ssize_t n;

	while ((n = recv(fd, buf, MR_FOLLOW_MESSAGE_MAX, MSG_DONTWAIT)) > 0) {
		struct mr_error bad = MR_ERROR_INIT;

		if (mr_json_parse(buf, (size_t)n, "the supervisor", &row, &bad) < 0)
			return mr_err(err, MR_E_PROTO, EPROTO, "%s", bad.msg);
		take_message(f, row);
	}
	if (n == 0)
		return 1;
	return errno == EAGAIN || errno == EINTR
		       ? 0
		       : mr_err(err, MR_E_SYS, errno, "receive events: %m");
}

static int follow_until_end(struct following *f, int fd, struct mr_error *err)
{
	mr_auto_free char *buf = mr_str_alloc(MR_FOLLOW_MESSAGE_MAX);
	int r = 0;

	while (r == 0) {
		struct pollfd p = { .fd = fd, .events = POLLIN };

		if (mr_clock_poll(&p, 1,
				  f->n ? mr_now_ns() + MR_PATIENCE_NS(EVENTS_LOOK) : UINT64_MAX) <
			    0 &&
		    errno != EINTR)
			return mr_err(err, MR_E_SYS, errno, "poll: %m");
		r = take_messages(f, fd, buf, err);
		print_until(f, (int64_t)(mr_now_ns() - MR_PATIENCE_NS(EVENTS_HOLD)));
	}
	print_until(f, INT64_MAX);
	return r < 0 ? r : 0;
}

/* 1: it has ended by now, the store will have it. */
static int show_living(struct events *events, const struct mr_living *run, struct mr_error *err)
{
	struct following f = { .events = events };
	mr_auto_close int fd = -1;
	int r = mr_living_follow(run, MR_PATIENCE_MS(EVENTS_ASK), &fd, err);

	if (r != 0)
		return r;
	r = follow_until_end(&f, fd, err);
	while (f.n)
		json_decref(f.held[--f.n]);
	free(f.held);
	if (r == 0 && !f.ended)
		return mr_err(err, MR_E_NONE, ECONNRESET,
			      "run %s: its supervisor was killed; what it had not told is lost",
			      run->info.id);
	return r;
}

/* --- which run -------------------------------------------------------------------------------- */

static int find_stored(const struct events *events, const char *prefix, struct mr_store **ret_store,
		       char **ret_id, struct mr_error *err)
{
	int r = mr_cmd_open(&events->common, MR_STORE_READ, ret_store, err);

	return r < 0 ? r : mr_cmd_find_run(*ret_store, prefix, ret_id, err);
}

static int show_from_store(struct events *events, const char *prefix, struct mr_error *err)
{
	mr_auto_store struct mr_store *store = NULL;
	mr_auto_free char *run_id = NULL;
	int r = find_stored(events, prefix, &store, &run_id, err);

	return r < 0 ? r : show_stored(events, store, run_id, err);
}

static int run(void *values, char **words, struct mr_error *err)
{
	struct events *events = values;
	struct mr_living *living = NULL;
	size_t n = 0, at = 0;
	int r = events->type ? mr_events_parse_types(events->type, &events->out.types, err) : 0;

	events->out.json = events->common.json;
	if (r == 0)
		r = mr_living_list(&living, &n, err);
	if (r == 0)
		r = mr_cmd_find_living(living, n, words[0], &at, err);
	if (r == 0 && !events->follow)
		r = mr_err(err, MR_E_NONE, EBUSY,
			   "run %s goes on; --follow shows what happens in it", living[at].info.id);
	if (r == 0)
		r = show_living(events, &living[at], err);
	if (r > 0)
		r = show_from_store(events, words[0], err);
	mr_living_free(living, n);
	return r;
}

const struct mr_cmd mr_cmd_events = {
	.name = "events",
	.synopsis = "RUN",
	.summary = "Show what happened in a run, or happens",
	.options = MR_OPTABLE(rows),
	.size = sizeof(struct events),
	.min_words = 1,
	.max_words = 1,
	.run = run,
};
