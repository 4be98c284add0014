/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Capabilities: none
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct mr_error;

/* Empty the bounding, ambient, inheritable, permitted and effective sets and lock
 * SECBIT_NOROOT so that uid 0 inside means nothing.  Call before dropping the uid needs
 * CAP_SETPCAP; afterwards nothing of it can be undone.  Async-signal-safe. */
int mr_caps_drop_all(struct mr_error *err);

/* As the kernel shows them in /proc/PID/status. */
struct mr_caps_shown {
	uint64_t inheritable, permitted, effective, bounding, ambient;
	unsigned int no_new_privs, seccomp; /* NoNewPrivs:, Seccomp: */
};
/* Parse the text of a status file (NUL-terminated). */
int mr_caps_parse_status(const char *status, struct mr_caps_shown *ret, struct mr_error *err);
