/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Failure mode hostile_input
 *
 * The run's standard input is the occasion: where it is drawn, another of runtime/spec/hostile.def
 * takes its place.  It lies in a file of ours that nobody else has, whose position tells afterwards
 * how much of it the payload has read; one that was not read at all was no occasion.  Of the empty one
 * nothing can be read, so that this cannot be known: it comes only where it was asked for by itself.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/io.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/spec/hostile.h"
#include "runtime/supervise/state.h"

struct input {
	int fd; /* -1: it stays the caller's */
	size_t size;
	const struct mr_hostile *row;
};

static bool leaves_trace(const struct mr_hostile *row)
{
	return row->head_size + row->tail_size > 0;
}

/* The at-th of those that text names. */
static const struct mr_hostile *find(const char *text, uint64_t at)
{
	size_t n;
	const struct mr_hostile *rows = mr_hostile_rows(&n);

	for (size_t i = 0; i < n; i++)
		if (mr_hostile_is(&rows[i], text) && at-- == 0)
			return &rows[i];
	return NULL;
}

static const struct mr_hostile *choose(const struct mr_run *run, struct mr_rand *rand)
{
	const char *text = run->spec->failure_hostile;
	const struct mr_hostile *row;
	size_t n, matching = 0, traceable = 0;
	const struct mr_hostile *rows = mr_hostile_rows(&n);

	for (size_t i = 0; i < n; i++) {
		matching += mr_hostile_is(&rows[i], text);
		traceable += mr_hostile_is(&rows[i], text) && leaves_trace(&rows[i]);
	}
	mr_assert(matching > 0); /* checked with the spec */
	do
		row = find(text, mr_rand_below(rand, matching));
	while (traceable > 0 && !leaves_trace(row));
	return row;
}

static int make_file(struct input *input, struct mr_error *err)
{
	mr_auto_free char *bytes = mr_hostile_build(input->row, &input->size);
	mr_auto_close int fd = memfd_create("menace-input", MFD_CLOEXEC);
	int r;

	if (fd < 0)
		return mr_err(err, MR_E_SYS, errno, "make the hostile input: %m");
	r = mr_write_full(fd, bytes, input->size);
	if (r < 0)
		return mr_err(err, MR_E_SYS, -r, "write the hostile input: %m");
	if (lseek(fd, 0, SEEK_SET) < 0)
		return mr_err(err, MR_E_SYS, errno, "rewind the hostile input: %m");
	input->fd = mr_take_fd(fd);
	return 0;
}

int mr_inject_input(struct mr_run *run, int *ret_fd, struct mr_error *err)
{
	struct mr_failure *f = mr_failures_find(run, MR_FAILURE_hostile_input);
	struct input *input;
	int r = 0;

	*ret_fd = -1;
	if (!f)
		return 0;
	input = mr_str_alloc(sizeof(*input));
	f->state = input;
	input->fd = -1;
	input->row = choose(run, &f->rand);
	if (mr_failure_fires(run, f))
		r = make_file(input, err);
	*ret_fd = input->fd;
	return r < 0 ? mr_err_wrap(err, r, "failure mode hostile_input") : 0;
}

bool mr_inject_has_input(struct mr_run *run)
{
	const struct mr_failure *f = mr_failures_find(run, MR_FAILURE_hostile_input);
	const struct input *input = f ? f->state : NULL;

	return input && input->fd >= 0;
}

static void count_input(struct mr_run *run, struct mr_failure *f)
{
	const struct input *input = f->state;
	const off_t at = input->fd < 0 ? 0 : lseek(input->fd, 0, SEEK_CUR);

	(void)run;
	f->amount = at > 0 ? (uint64_t)at : 0;
	if (input->fd < 0)
		return;
	if (!leaves_trace(input->row))
		snprintf(f->why, sizeof(f->why), "whether an empty input was read leaves no trace");
	else if (at <= 0)
		f->opportunities = f->fired = 0;
}

static void tell_input(const struct mr_run *run, const struct mr_failure *f, json_t *object)
{
	const struct input *input = f->state;

	(void)run;
	if (input->fd < 0)
		return;
	json_object_set_new(object, "input", json_string(input->row->id));
	json_object_set_new(object, "class", json_string(input->row->class));
	json_object_set_new(object, "size", json_integer((json_int_t)input->size));
}

static void free_input(struct mr_run *run, struct mr_failure *f)
{
	struct input *input = f->state;

	(void)run;
	mr_close(input->fd);
	free(input);
}

const struct mr_injector mr_inject_hostile_input = {
	.mode = MR_FAILURE_hostile_input,
	.unit = "bytes",
	.count = count_input,
	.tell = tell_input,
	.free = free_input,
};
