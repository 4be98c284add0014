/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layer: what a payload finds in its workspace instead of what is there
 *
 * A read-only layer between the workspace and what the payload writes: files of it are gone, denied or
 * others.  Nothing of it is in the workspace, nor among what the payload changed.
 */
#pragma once

#include <stddef.h>

enum mr_layer_kind {
	MR_LAYER_GONE, /* not there */
	MR_LAYER_DENIED, /* there, and nobody may open it, who has no capability */
	MR_LAYER_BYTES, /* a regular file with this content */
};

struct mr_layer_file {
	char *path; /* below the workspace: no link, no "." or ".." in it */
	enum mr_layer_kind kind;
	char *bytes; /* MR_LAYER_BYTES */
	size_t size;
};

/* No file of it is below another. */
struct mr_layer {
	struct mr_layer_file *v;
	size_t n;
};
#define MR_LAYER_BYTES_MAX (16U << 20) /* of all contents together */
