/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits: what one control group allows
 *
 * Plain data.  cgroup.h applies them when a group is made; which file of which
 * hierarchy each becomes is a table in v1.c and in v2.c.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef MR_UNLIMITED
#define MR_UNLIMITED UINT64_MAX
#endif

struct mr_error;

struct mr_limits {
	uint64_t memory_max; /* bytes, MR_UNLIMITED: no limit */
	uint64_t swap_max; /* bytes on top of memory_max */
	uint64_t pids_max; /* tasks (processes and threads) */
	uint64_t cpu_quota_us; /* per cpu_period_us; MR_UNLIMITED: no limit */
	uint64_t cpu_period_us;
	bool sockets; /* packets can be held in sockets: v1 counts that memory apart, so it is
			 given memory_max once more */
};

/* The kernel controllers that limits and statistics come from; bits of a mask. */
enum mr_controller {
	MR_CONTROLLER_MEMORY,
	MR_CONTROLLER_PIDS,
	MR_CONTROLLER_CPU,
	MR_CONTROLLER_IO, /* statistics of v2 only */
	MR_CONTROLLER_COUNT_,
};
#define MR_CONTROLLER_BIT(c) (1U << (c))

/* Name as in cgroup.controllers and in the options of a v1 mount. */
const char *mr_limits_controller_name(enum mr_controller controller);

/* How a file spells "no limit", and whether a second number follows. */
enum mr_limit_form {
	MR_LIMIT_FORM_MAX, /* "max" */
	MR_LIMIT_FORM_MINUS, /* "-1" */
	MR_LIMIT_FORM_QUOTA, /* "max 100000": quota and period in one file */
};

/* One row: one limit is one file. */
struct mr_limit_file {
	const char *key; /* field name users know, "memory_max_bytes" */
	const char *file; /* "memory.max" */
	size_t offset; /* of the value in struct mr_limits */
	enum mr_controller controller; /* who serves the file */
	enum mr_limit_form form;
};

/* What is really written: extra_pids added, the default period filled in, a CPU quota below
 * the kernel's floor of 1000 us scaled up with its period, pids_max cut to what the kernel
 * can count.  MR_E_USAGE for a period or quota no kernel accepts. */
int mr_limits_normalise(const struct mr_limits *limits, unsigned int extra_pids,
			struct mr_limits *ret, struct mr_error *err);

/* Mask of the controllers without which these limits cannot be kept; swap counts as memory. */
unsigned int mr_limits_controllers(const struct mr_limits *limits);
/* Take off what this controller would be asked for. */
void mr_limits_lift(struct mr_limits *limits, enum mr_controller controller);

/* Write one row's value.  -ENOENT (MR_E_KERNEL) when the file is absent and a limit is asked
 * of it; 0 when it is absent and none is. */
int mr_limits_write(int dir_fd, const struct mr_limit_file *file, const struct mr_limits *limits,
		    struct mr_error *err);

/* All rows served by the controllers in the mask, in the table's order. */
int mr_limits_apply(int dir_fd, const struct mr_limit_file *files, size_t n,
		    unsigned int controllers, const struct mr_limits *limits, struct mr_error *err);

/* "max", "-1" or a decimal number, ended by a space, a newline or the end of the text.
 * Returns the character after it, or NULL (with *ret untouched) for anything else. */
const char *mr_limits_parse(const char *text, uint64_t *ret);

/* What the row's file shows now: the value (v1's LONG_MAX rounded down to a page becomes
 * MR_UNLIMITED), and the period for a QUOTA row (else *ret_period is untouched).  Negative
 * errno; -EBADMSG when the file holds no such numbers. */
int mr_limits_read(int dir_fd, const struct mr_limit_file *file, uint64_t *ret,
		   uint64_t *ret_period);
