/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Docker, sweep: remove what is left of those who died, and nothing else
 *
 * Removed is a container whose label names the folder of leases that we see ourselves, and
 *   of a run: of whose lease nobody has hold;
 *   prepared: which has no record in the ledger, or a free one that is not ready; or which is ready, and
 *   has ended by itself or is beyond its time.
 * Whatever else an engine has is somebody else's, whatever it is called.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct json_t;
struct mr_docker;
struct mr_error;

struct mr_docker_sweep {
	struct mr_docker *docker;
	int leases_fd; /* folder of leases */
	int pool_fd; /* folder of the ledger */
	const char *label; /* of the folder of leases */
	const char *own_id; /* a run that is not to be judged; NULL: none */
	bool dry_run; /* only tell */
	bool drain; /* prepared containers that wait go as well */
	/* what was (with dry_run: would be) removed */
	size_t runs; /* containers of runs whose supervisor is dead */
	size_t prepared; /* containers that died while they were made or used */
	size_t expired; /* prepared containers past their time */
	size_t drained; /* others that waited */
	size_t old; /* containers from before the last boot */
	size_t records; /* records of containers that are not there */
	size_t left; /* could not be removed; why is told */
};

/* The containers that have this label with this value: new reference. */
int mr_docker_sweep_list(struct mr_docker *docker, const char *label, const char *value,
			 struct json_t **ret, struct mr_error *err);
/* Go over all of it.  What cannot be removed is told, counted, and left to the next. */
int mr_docker_sweep_run(struct mr_docker_sweep *sweep, struct mr_error *err);
/* Containers of ours from before the last boot of this machine: they do not run, and were made before
 * it.  Only of an engine on this machine. */
int mr_docker_sweep_old(struct mr_docker_sweep *sweep, const char *machine, struct mr_error *err);
/* Folders of files whose container and supervisor are gone: their number. */
size_t mr_docker_sweep_folders(const struct mr_docker_sweep *sweep);
