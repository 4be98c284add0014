/* SPDX-License-Identifier: Apache-2.0 */
/*
 * QEMU: a run in a virtual machine with a kernel of its own
 *
 * From an errand to a result: finds what is needed, starts machines until one has begun the
 * run, and says in the result how that went.
 */
#pragma once

#include "runtime/backend/errand.h"
#include "runtime/backend/qemu_share.h"

struct json_t;
struct mr_error;

struct mr_qemu_opts {
	const struct mr_errand *errand;
	const char *bin_dir; /* of our programs; shared with the guest */
	const struct mr_strv *system_paths; /* of this host, that the programs of any run need */
	int stdin_fd, stdout_fd, stderr_fd; /* the caller's */
	int signals_fd; /* signalfd of what ends or is forwarded */
};

/* 0, or MR_E_KERNEL with what is missing; facts (may be NULL): what was found, new reference. */
int mr_qemu_probe(const struct mr_qemu_opts *opts, struct json_t **ret_facts, struct mr_error *err);
/* The result, whatever happens; new reference.  NULL: nobody wants it any more. */
struct json_t *mr_qemu_run(const struct mr_qemu_opts *opts);
