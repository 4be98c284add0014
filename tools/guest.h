/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guest: the parts of menace-guest
 */
#pragma once

#include <sys/types.h>

struct mr_error;
struct mr_run_host;

/* guest_boot.c.  Mount in the initramfs what a host has mounted. */
int mr_guest_make_mounts(struct mr_error *err);
/* Load the modules and open the port to menace-qemu: descriptor or negative errno. */
int mr_guest_open_port(struct mr_error *err);
/* Move to the host's files, by "virtiofs" or "9p", with everything mounted that a host has. */
int mr_guest_enter_tree(const char *share, struct mr_error *err);
/* For a process alone: the same with what the initramfs has in their place. */
int mr_guest_enter_own_tree(struct mr_error *err);

/* guest_relay.c.  Talk to menace-qemu until the run is over. */
void mr_guest_serve(int port);

/* guest_prepare.c.  Begin with what the kernel's command line asks for; in a machine that is to be kept,
 * do all that no run has a part in. */
void mr_guest_prepare(void);
/* What the run is done by, which is prepared or made now; the process's, not to be freed. */
struct mr_run_host *mr_guest_host(struct mr_error *err);

/* Descriptors of a run. */
struct mr_guest_fds {
	int spec; /* a memfd */
	int in, out, err, result;
};
/* guest_run.c.  Do the run, in a process of its own; exit status. */
int mr_guest_run(const struct mr_guest_fds *fds);
/* Do one of no consequence, in a process of its own, and take all of it away again; exit status. */
int mr_guest_rehearse(void);
