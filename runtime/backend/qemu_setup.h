/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Setup: what a guest is told once it is up
 *
 * Entropy first: without, the guest's kernel gathers it for a second when the setup is parsed.  Then what
 * it needs to be this host's look-alike, what it is to run, and START.
 */
#pragma once

struct mr_buf;
struct mr_error;
struct mr_spec;

/* Add the frames of it. */
int mr_setup_queue(struct mr_buf *queue, const struct mr_spec *spec, const char *bin_dir,
		   struct mr_error *err);
