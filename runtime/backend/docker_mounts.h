/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Docker, mounts: is what is asked for read-only read-only all the way down?
 *
 * With ReadOnly engines before 25 make the one mount read-only that stands at the source, and what is
 * mounted below it is shown as writable as the host has it.  With the API 1.44 and a kernel that can
 * (mount_setattr, 5.12) they are told to do it for all, or to refuse.
 */
#pragma once

#include <stdbool.h>

struct json_t;
struct mr_docker;
struct mr_error;

/* Can this engine, which is on this host, make all of a tree read-only? */
bool mr_docker_mounts_forces(const struct mr_docker *docker);
/* A body of POST /containers/create.  MR_E_KERNEL: a mount would be shown writable below one that is asked for
 * as read-only, and which. */
int mr_docker_mounts_check(const struct json_t *body, struct mr_error *err);
