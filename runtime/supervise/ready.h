/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ready: tell the caller that all is there, and begin on his word
 *
 * A sandbox takes longer to make than many a program to run.  Who wants programs to
 * begin together, or at a moment of his, has their sandboxes made before.
 */
#pragma once

#include "runtime/base/loop.h"

struct mr_error;

/* The caller's, borrowed; both may be one socket. */
struct mr_ready_fds {
	int ready_fd; /* one byte is written to it when all is ready; -1: nobody is told */
	int block_fd; /* the run begins when a byte can be read from it, and takes it; -1: at once */
};

struct mr_ready {
	struct mr_loop *loop;
	struct mr_source source;
	/* From the loop, once.  err: why the word will never come, or NULL. */
	void (*on_go)(void *owner, const struct mr_error *err);
	void *owner;
};

/* All is ready: tell it.  1: on_go comes, until mr_ready_stop(); 0: begin, it does not; or an
 * error.  fds NULL: as with both -1. */
int mr_ready_tell(struct mr_ready *ready, struct mr_loop *loop, const struct mr_ready_fds *fds,
		  void (*on_go)(void *owner, const struct mr_error *err), void *owner,
		  struct mr_error *err);
/* No-op where nothing is waited for, also on one that is all zeroes. */
void mr_ready_stop(struct mr_ready *ready);
