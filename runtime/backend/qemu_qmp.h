/* SPDX-License-Identifier: Apache-2.0 */
/*
 * QMP: QEMU's control protocol, one command at a time
 *
 * A line of JSON each way (docs/interop/qmp-spec.txt of QEMU).  Every wait has one end, given at
 * the beginning: a QEMU that is silent, gone or talks nonsense is an error and never a hang.
 */
#pragma once

#include <stdint.h>

#include "runtime/base/buf.h"
#include "runtime/base/json.h"

struct mr_error;

struct mr_qmp {
	int fd; /* borrowed, non-blocking */
	uint64_t until_ns; /* of mr_now_ns() */
	struct mr_buf in; /* what came and is no whole line yet */
	json_t *event; /* the last event of that name, or NULL */
	const char *wanted; /* its name */
};

/* Read the greeting, and leave the mode that it begins in.  mr_qmp_deinit() in any case. */
int mr_qmp_init(struct mr_qmp *qmp, int fd, uint64_t until_ns, struct mr_error *err);
void mr_qmp_deinit(struct mr_qmp *qmp);
/* Do this command; args is consumed and may be NULL.  MR_E_KERNEL: QEMU refused, in its words. */
int mr_qmp_do(struct mr_qmp *qmp, const char *command, json_t *args, struct mr_error *err);
/* Give it a copy of this descriptor, under this name (no digit first). */
int mr_qmp_give(struct mr_qmp *qmp, const char *name, int fd, struct mr_error *err);
/* Move the machine's state by "migrate" or "migrate-incoming", to or from "fd:NAME or number", and wait
 * until it is done.  The memory itself is shared and stays where it is. */
int mr_qmp_migrate(struct mr_qmp *qmp, const char *command, const char *uri, struct mr_error *err);
