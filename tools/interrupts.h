/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interrupts: the signals that ask a long command to stop, in its loop
 */
#pragma once

#include <signal.h>

#include "runtime/base/loop.h"

struct mr_error;

struct mr_interrupts {
	struct mr_loop *loop;
	struct mr_source source;
	sigset_t before; /* what was blocked */
	int signal; /* the first that came; 0: none */
	void (*on_signal)(void *owner); /* each time */
	void *owner;
};

/* All signals that end a run (runtime/base/inherit.h) come here from now on; loop, on_signal and owner are set. */
int mr_interrupts_begin(struct mr_interrupts *interrupts, struct mr_error *err);
/* As it was before. */
void mr_interrupts_end(struct mr_interrupts *interrupts);
