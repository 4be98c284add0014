/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attach: those programs that are attached only while a run that wants them goes on
 *
 * The links are descriptors of ours: whatever ends us ends them.
 */
#pragma once

#include "bpf/pins.h"

/* Attach the pinned program of a row of CGROUP to the group at cgroup_fd; of RAW_TP_RUN once,
 * however many runs want it.  A descriptor for mr_detach_row, or negative errno. */
int mr_attach_row(const char *set_path, const struct mr_probe_row *row, int cgroup_fd,
		  struct mr_error *err);
/* fd: of mr_attach_row, or -1. */
void mr_detach_row(const char *set_path, const struct mr_probe_row *row, int fd);
