/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Docker, tidy: the pool and what is left, told and cleaned up when somebody asks
 *
 * Every document is a new reference; what it means is in menace(1).
 */
#pragma once

#include <stdbool.h>

struct json_t;
struct mr_docker;
struct mr_error;

/* The prepared containers and the counters.  Where the engine does not answer they are told all the
 * same, by the ledger alone, with "engine_error". */
int mr_docker_tidy_status(struct mr_docker *docker, struct json_t **ret, struct mr_error *err);
/* Remove what waits in the pool. */
int mr_docker_tidy_drain(struct mr_docker *docker, bool dry_run, struct json_t **ret,
			 struct mr_error *err);
/* Remove what is left of those who died. */
int mr_docker_tidy_purge(struct mr_docker *docker, bool dry_run, struct json_t **ret,
			 struct mr_error *err);
/* What the engine has of disk and memory, and how much of ours is in it. */
int mr_docker_tidy_resources(struct mr_docker *docker, struct json_t **ret, struct mr_error *err);
