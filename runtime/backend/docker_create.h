/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Docker, create: a spec as what an engine is asked to make
 *
 * And the other way round: whether what the engine shows is what it was asked for.  Pure, but for
 * looking at which of the host's folders there are.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "runtime/spec/spec.h"

struct json_t;
struct mr_error;

#define MR_DOCKER_LABEL_RUN "org.menace.run"
#define MR_DOCKER_LABEL_POOL "org.menace.pool" /* instead of it: the id of a prepared container */
#define MR_DOCKER_LABEL_LEASE "org.menace.lease"
#define MR_DOCKER_LABEL_MACHINE "org.menace.machine" /* and user: the same after a reboot */
#define MR_DOCKER_INIT "/run/menace-init" /* where a container shows it */
/* Files of /etc that are made for each container, as a native run has them. */
#define MR_DOCKER_ETC "passwd", "group", "hosts", "resolv.conf", "nsswitch.conf"

struct mr_docker_create {
	const struct mr_spec *spec;
	const char *run_id;
	const char *lease, *machine; /* values of the labels of these names; machine may be NULL */
	const char *image; /* id */
	bool host_system; /* the image is empty: show the host's /usr and the like */
	bool forces_ro; /* the engine can make what is mounted below a mount read-only with it */
	const char *init_file; /* of the host: menace-init, which is told what to start when the
				* container runs; NULL: the engine has its own */
	uint64_t wait_ms; /* with it: how long it waits for that */
	char **argv, **envp; /* without it */
	const char *pool_id; /* of a container that is prepared: run_id does not count */
	const char *snippet_folder; /* of the host, shown as /run/snippet; NULL: none */
	const char
		*etc_folder; /* of the host, with host_system: where those of MR_DOCKER_ETC are */
	unsigned int uid, gid;
};

/* Body of POST /containers/create; new reference.  All texts are UTF-8. */
struct json_t *mr_docker_create_body(const struct mr_docker_create *create);
/* Of its HostConfig the limits that can be changed later: new reference. */
struct json_t *mr_docker_create_limits(const struct json_t *body);
/* Take them out, and put the few facts about them in that cannot be changed. */
void mr_docker_create_drop_limits(struct json_t *body);
/* Compare the limits and locks that the engine shows (GET /containers/ID/json) with those asked for.
 * MR_E_KERNEL naming the first that differs. */
int mr_docker_create_verify(const struct json_t *asked, const struct json_t *shown,
			    struct mr_error *err);

/* Of the root of the host, what is shown to a container with an empty image. */
const char *const *mr_docker_system_entries(size_t *ret_n);
