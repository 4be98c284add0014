/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guest: the parts of menace-guest
 */
#pragma once

#include <sys/types.h>

struct mr_error;

/* Descriptors of "menace-guest run", beside 0 to 2 (2: the console, for messages). */
#define MR_GUEST_FD_SPEC 3
#define MR_GUEST_FD_RESULT 4
#define MR_GUEST_FD_STDERR 5

/* guest_boot.c.  Load the modules and open the port to menace-qemu: descriptor or negative errno. */
int mr_guest_open_port(struct mr_error *err);
/* Move to the host's files, by "virtiofs" or "9p", with everything mounted that a host has. */
int mr_guest_enter_tree(const char *share, struct mr_error *err);

/* guest_relay.c.  Talk to menace-qemu until the run is over. */
void mr_guest_serve(int port);

/* guest_run.c.  Do the run; exit status. */
int mr_guest_run(void);
