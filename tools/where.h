/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where: the backends of one run, in turn
 *
 * Each is tried by beginning the run in it: nothing of the payload has happened, and nothing of its
 * input is read, when it refuses with MR_E_KERNEL.  So no probe can differ from the run.
 */
#pragma once

#include "runtime/backend/choose.h"
#include "runtime/backend/deputy.h"

struct json_t;

struct mr_where {
	const struct mr_spec *spec; /* borrowed */
	struct mr_backend_facts facts[MR_BACKEND_QEMU + 1];
	struct mr_choose_in in;
	struct mr_choice choice; /* of the last mr_where_next() */
};

/* cgroup_parent: of --cgroup-parent, or NULL. */
void mr_where_init(struct mr_where *where, const struct mr_spec *spec, const char *cgroup_parent);
/* Choose; refused (or NULL): why the last choice could not begin.  A line tells of a choice that is
 * not native.  MR_E_KERNEL: none is left. */
int mr_where_next(struct mr_where *where, const struct mr_error *refused, struct mr_error *err);
/* May a run that failed so be tried elsewhere? */
bool mr_where_may_move(const struct mr_where *where, const struct mr_error *failed);
/* The result of a run that no backend could begin: native (stolen), where there was one, with the
 * message of err.  New reference. */
struct json_t *mr_where_refused(const struct mr_where *where, struct json_t *native,
				const struct mr_error *err);
