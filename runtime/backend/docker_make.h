/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Docker, make: a container, from what is asked for to one that is there as it was asked for
 *
 * What is the same for a container of one run and for one that is prepared for whichever comes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "runtime/backend/docker_create.h"
#include "runtime/backend/docker_image.h"
#include "runtime/backend/docker_lease.h"
#include "runtime/backend/docker_reply.h"
#include "runtime/base/sibling.h"

struct json_t;
struct mr_child;
struct mr_docker;
struct mr_error;

/* What does not depend on the single container. */
struct mr_docker_plan {
	struct mr_docker *docker; /* borrowed */
	const struct mr_spec *spec; /* borrowed */
	const char *label; /* of the folder of leases; borrowed */
	char machine[MR_DOCKER_LEASE_LABEL_SIZE]; /* "": not known */
	char image[MR_DOCKER_IMAGE_ID_SIZE];
	char init[MR_SIBLING_MAX]; /* "": the engine has none of this host's files */
};

/* Find the programs, but not yet the image. */
int mr_docker_plan_make(struct mr_docker *docker, const struct mr_spec *spec, const char *label,
			struct mr_docker_plan *ret, struct mr_error *err);
/* Is it something that this engine can be asked for?  MR_E_KERNEL: no, and why. */
int mr_docker_make_check(const struct mr_docker_plan *plan, const struct mr_child *child,
			 struct mr_error *err);
/* The request for a container whose files are in folder.  id: of the run, or with prepared of the
 * container itself; snippet: malloc'd, the caller's, for as long as *ret is used. */
void mr_docker_plan_request(const struct mr_docker_plan *plan, const char *id, bool prepared,
			    const char *folder, char **snippet, struct mr_docker_create *ret);

/* As root ids of their own as natively; else the caller's, who has rights to no other.
 * prepared: ids that no run of menace-run's can get while the container waits. */
int mr_docker_make_ids(const struct mr_spec *spec, bool prepared, unsigned int *ret_uid,
		       unsigned int *ret_gid, struct mr_error *err);
/* The files of MR_DOCKER_ETC, and the empty folder of snippets, in folder. */
int mr_docker_make_files(const char *folder, const struct mr_spec *spec, unsigned int uid,
			 unsigned int gid, struct mr_error *err);
/* The snippet of a run, where it has one. */
int mr_docker_make_snippet(const char *folder, const struct mr_child *child, struct mr_error *err);

/* Make the container of that name, see that it is as it was asked for.  MR_E_KERNEL: the engine
 * would leave something out. */
int mr_docker_make_container(struct mr_docker *docker, const char *name, const struct json_t *body,
			     char ret_id[MR_DOCKER_ID_SIZE], struct mr_error *err);
/* What the engine shows of it: new reference. */
int mr_docker_make_inspect(struct mr_docker *docker, const char *id, struct json_t **ret,
			   struct mr_error *err);
/* "start", "kill?signal=9": tell the engine to. */
int mr_docker_make_post(struct mr_docker *docker, const char *id, const char *verb,
			uint64_t timeout_ms, struct mr_error *err);
