/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Docker, pool: containers that are made and started before anybody needs them
 *
 * A prepared container waits with menace-init as its only process, which has not seen a payload.  One run takes it,
 * changes the limits that can be changed, has the engine show all of it, and tells menace-init what to
 * start; after the run it is removed.  None is ever used a second time.
 *
 * Which run may take which is decided by a key: the hash of everything the container was made of,
 * less the limits that can be changed.  Files of the host that it shows count with their identity,
 * so that none shows a file which has been replaced since.
 *
 * There is no service.  A run that wanted one starts a filler when its result is given: a process of its own,
 * which prepares what is missing and ends, within DOCKER_POOL_FILL of patience.def whatever happens.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "runtime/backend/docker_ledger.h"
#include "runtime/backend/docker_make.h"

struct json_t;
struct mr_error;

/* Has this run to do with a pool?  *ret_why: why not, although it asked; NULL. */
bool mr_docker_pool_fits(const struct mr_docker_plan *plan, const char **ret_why);

struct mr_docker_prepared {
	struct mr_docker_record record; /* fd -1: none is taken */
	int pool_fd;
	char id[MR_RUN_ID_SIZE]; /* its name, behind MR_DOCKER_NAME_PREFIX */
	char container[MR_DOCKER_ID_SIZE];
	unsigned int uid, gid;
	char *folder;
	struct json_t *asked; /* the request that would have made it with this run's limits */
};

/* What a run met, for the counters. */
struct mr_docker_pool_news {
	unsigned int used, missed, unfit; /* unfit: taken, but not as it has to be */
	char why[200]; /* of the last unfit one */
};

/* Take one: 0; 1 there is none; MR_E_KERNEL: the engine does not answer. */
int mr_docker_pool_take(const struct mr_docker_plan *plan, struct mr_docker_prepared *ret,
			struct mr_docker_pool_news *news, struct mr_error *err);
/* Remove it.  MR_E_KERNEL: it is still there; then its record stays, for who comes next. */
int mr_docker_pool_discard(struct mr_docker *docker, struct mr_docker_prepared *prepared,
			   struct mr_error *err);
void mr_docker_prepared_deinit(struct mr_docker_prepared *prepared);

/* Start the filler for runs like this one, where the spec wants a pool; tell the counters.  Returns
 * at once; what goes wrong is in the counters, nobody waits for it. */
void mr_docker_pool_refill(const struct mr_spec *spec, const struct mr_docker_pool_news *news);
