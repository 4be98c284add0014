/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Share: the files of this host that the guest sees
 *
 * Only what a run is to see, read-only, at its own places; the rest of this host is not
 * there.  A tree of mounts in a mount namespace of the program that serves it.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "runtime/launch/launch.h"
#include "runtime/spec/spec.h"

struct mr_cgroup;
struct mr_error;

/* Absolute paths, canonical but for their last name, without those below others. */
struct mr_share {
	struct mr_strv paths;
	bool has_ids; /* the payload's are known before it starts */
	struct mr_ids ids;
	char *workspace; /* the one of paths whose owner is shown with them, or NULL */
	bool bears_owner; /* or is not, where this kernel may not do that */
};

void mr_share_deinit(struct mr_share *share);
/* A path that is not there is left out. */
void mr_share_add(struct mr_share *share, const char *path);
/* All that a spec names, and in the spec by the names that are shared.  MR_E_KERNEL: it wants what
 * a guest cannot give. */
int mr_share_add_spec(struct mr_share *share, struct mr_spec *spec, struct mr_error *err);

/* Is virtiofsd there, and may we start it?  MR_E_KERNEL with what to do. */
int mr_share_can_virtiofs(struct mr_error *err);
/* Serve the paths: *ret_socket is for QEMU, owned by the caller; the program ends when that is
 * closed, and with us.  It begins in the group (NULL: none); its messages go to log_fd. */
int mr_share_start_virtiofs(const struct mr_share *share, const struct mr_cgroup *group, int log_fd,
			    int *ret_socket, pid_t *ret_pid, struct mr_error *err);
