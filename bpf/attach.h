/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attach: those programs that are attached for one run alone
 *
 * The links are descriptors of ours: whatever ends us ends them.
 */
#pragma once

#include "bpf/pins.h"

/* Attach the pinned program of a row; for CGROUP to the group at cgroup_fd.  A descriptor, or
 * negative errno. */
int mr_attach_row(const char *set_path, const struct mr_probe_row *row, int cgroup_fd,
		  struct mr_error *err);
