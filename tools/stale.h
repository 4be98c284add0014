/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stale: what is left of runs whose supervisor is dead
 *
 * By its lease: control groups, and the files that its container was shown.  The backend docker: containers,
 * records of prepared ones and their files (runtime/backend/docker_sweep.h).  Each part is done whatever becomes of the other.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct json_t;
struct mr_error;

struct mr_stale {
	int leases; /* of native runs, removed with what they name */
	size_t leases_left; /* could not be */
	struct json_t *docker; /* what the engine's part tells; NULL: there is no engine */
	char no_engine[300]; /* why, then */
	int templates; /* of machines, removed */
	size_t templates_used; /* and those that stay, as somebody uses or makes one */
};

/* task: of menace-docker, "purge" or "pool-drain", for the engine's part.  Where no engine is there that
 * is no error; one that is there and does not answer is, after the rest was done. */
int mr_stale_remove(const char *task, bool dry_run, struct mr_stale *ret, struct mr_error *err);
/* Of machines: the templates that nobody uses (runtime/backend/qemu_template.h). */
int mr_stale_remove_templates(bool dry_run, struct mr_stale *stale, struct mr_error *err);
void mr_stale_deinit(struct mr_stale *stale);
/* New reference. */
struct json_t *mr_stale_json(const struct mr_stale *stale, bool dry_run);
void mr_stale_print(const struct mr_stale *stale, bool dry_run);
/* Is something still there that should have gone? */
bool mr_stale_is_left(const struct mr_stale *stale);
