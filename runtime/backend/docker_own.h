/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Docker, own images: made of a tree of files, listed and removed
 *
 * An image of ours has the label MR_DOCKER_LABEL_IMAGE.  One without it is somebody else's: it is
 * not listed, it is not removed, and its name is not given to another.
 */
#pragma once

#include <stddef.h>

struct json_t;
struct mr_docker;
struct mr_error;

/* A tar of a whole root (gzip and the like too), given to the engine as an image of that name
 * ("NAME" or "NAME:TAG"; NULL: menace/image with the hash of the tar as the tag).  *ret: {"id", "name", "bytes"}, new
 * reference.  MR_E_USAGE: the name is none, or is that of an image which is not ours. */
int mr_docker_own_build(struct mr_docker *docker, const char *tar, size_t size, const char *name,
			struct json_t **ret, struct mr_error *err);
/* [{"id", "names", "kind", "bytes", "created"}, ...], new reference. */
int mr_docker_own_list(struct mr_docker *docker, struct json_t **ret, struct mr_error *err);
/* MR_E_USAGE: there is none of that name, or it is not ours; MR_E_KERNEL: it is in use. */
int mr_docker_own_remove(struct mr_docker *docker, const char *name, struct json_t **ret,
			 struct mr_error *err);
