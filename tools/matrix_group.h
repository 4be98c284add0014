/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Group of a matrix: one control group above those of all its sandboxes
 *
 * Admission adds up what sandboxes may use; this group has the kernel hold the sum.
 * A sandbox that the group's limit ends has said nothing about the program in it.
 * Where no group can be had, the cap is by accounting alone, and that is told.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/scenario/admission.h"

struct json_t;
struct mr_error;
struct mr_matrix_group;

struct mr_matrix_group_opts {
	struct mr_load cap; /* what admission goes by */
	uint64_t
		widest_cpus; /* of one sandbox, thousandths: it is let in alone if that is over the cap */
	uint64_t sandboxes; /* at once at most: each has a process of ours */
};

/* Never NULL; what could not be had is in its report. */
struct mr_matrix_group *mr_matrix_group_new(const struct mr_matrix_group_opts *opts);
/* Remove the group.  Accepts NULL, returns NULL. */
struct mr_matrix_group *mr_matrix_group_free(struct mr_matrix_group *group);
/* For --cgroup-parent; NULL: there is none.  Borrowed. */
const char *mr_matrix_group_name(const struct mr_matrix_group *group);

/* Take note of a result, menace.result/1.  Text (to free) why the sandbox was ended by what is not its own,
 * or NULL. */
char *mr_matrix_group_judge(struct mr_matrix_group *group, const struct json_t *result);
/* Was the limit of processes reached, so that one that may have more than it (pids) failed by it?  Text (to
 * free), or NULL. */
char *mr_matrix_group_judge_pids(const struct mr_matrix_group *group, uint64_t pids);

/* Member "cap" of a matrix, new reference. */
struct json_t *mr_matrix_group_json(const struct mr_matrix_group *group);
