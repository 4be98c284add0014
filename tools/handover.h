/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handover: what we write goes to another program of ours
 */
#pragma once

#include <stdio.h>
#include <sys/types.h>

struct mr_error;

struct mr_handover {
	const char *name; /* as it was given */
	FILE *stream; /* its standard input */
	pid_t pid;
};

/* Start our program `name`; argv ends with NULL and its first word is
 * put in.  From then on a broken pipe is an error of a write, not a signal. */
int mr_handover_open(const char *name, const char **argv, struct mr_handover *ret,
		     struct mr_error *err);
/* Close its input and wait: its exit status, or negative when a signal ended it. */
int mr_handover_close(struct mr_handover *handover, struct mr_error *err);
