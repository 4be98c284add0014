/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Docker, image: which image a container is made of
 *
 * Without sandbox.image the container is to see the host's own programs, as a native run does.  For
 * that there is an image of ours with nothing but folders and links in it, a few kilobytes,
 * which is handed to the engine once (never pulled); its tag is the hash of its bytes, so an
 * image of that name with something else in it is not taken.
 */
#pragma once

#include <stddef.h>

#include "runtime/spec/spec.h"

struct json_t;
struct mr_docker;
struct mr_docker_request;
struct mr_error;

#define MR_DOCKER_LABEL_IMAGE "org.menace.image" /* ours: "built" or "skeleton" */
#define MR_DOCKER_IMAGE_ID_SIZE 96 /* "sha256:" and 64 digits, with room */

/* The id of the image to use.  MR_E_KERNEL: the engine does not have it (and may not pull). */
int mr_docker_image_find(struct mr_docker *docker, const struct mr_spec *spec,
			 char ret_id[MR_DOCKER_IMAGE_ID_SIZE], struct mr_error *err);

/* What the engine knows of an image: 0, or 1 when it has none of that name.  New reference. */
int mr_docker_image_inspect(struct mr_docker *docker, const char *name, struct json_t **ret,
			    struct mr_error *err);
int mr_docker_image_id(const struct json_t *image, const char *name,
		       char ret_id[MR_DOCKER_IMAGE_ID_SIZE], struct mr_error *err);
/* Ask for one; a failure in what the engine says of its progress is one, too. */
int mr_docker_image_create(struct mr_docker *docker, const struct mr_docker_request *request,
			   const char *name, struct mr_error *err);

/* The tar of the empty image: malloc'd. */
char *mr_docker_image_skeleton(size_t *ret_size);
