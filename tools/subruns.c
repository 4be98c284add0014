/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Subruns
 *
 * What runtime/supervise asks for and runtime/backend has; the two do not know each other.  It is
 * kept in no store: the run that it is for tells of it.
 */
#include "tools/subruns.h"

#include <limits.h>
#include <stdlib.h>

#include "runtime/backend/child.h"
#include "runtime/base/str.h"
#include "runtime/supervise/run.h"

struct subrun {
	struct mr_child *child;
	void (*on_end)(void *owner);
	void *owner;
};

static void on_end(struct mr_child *child, void *owner)
{
	struct subrun *subrun = owner;

	(void)child;
	subrun->on_end(subrun->owner);
}

static int start(struct mr_loop *loop, const struct mr_subrun_opts *what, void **ret,
		 struct mr_error *err)
{
	struct subrun *subrun = mr_str_alloc(sizeof(*subrun));
	char program[PATH_MAX];
	struct mr_child_opts opts = { .loop = loop,
				      .program = program,
				      .store = "none",
				      .spec = what->spec,
				      .input = what->input,
				      .input_size = what->input_size,
				      .output_fd = what->output_fd,
				      .on_end = on_end,
				      .owner = subrun };
	int r = mr_child_find_program(program, err);

	subrun->on_end = what->on_end;
	subrun->owner = what->owner;
	if (r == 0)
		r = mr_child_start(&opts, &subrun->child, err);
	if (r < 0) {
		free(subrun);
		return r;
	}
	*ret = subrun;
	return 0;
}

static int result(void *subrun, const struct json_t **ret, struct mr_error *err)
{
	return mr_child_result(((struct subrun *)subrun)->child, ret, err);
}

static void interrupt(void *subrun)
{
	mr_child_interrupt(((struct subrun *)subrun)->child);
}

static void free_subrun(void *subrun)
{
	if (subrun)
		mr_child_free(((struct subrun *)subrun)->child);
	free(subrun);
}

const struct mr_subruns mr_subruns = {
	.start = start,
	.result = result,
	.interrupt = interrupt,
	.free = free_subrun,
};
