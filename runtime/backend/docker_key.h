/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Docker, key: which prepared container is one for which run
 */
#pragma once

#include "runtime/backend/docker_make.h"
#include "runtime/base/hash.h"

struct mr_error;

/* The hash of what a prepared container for this plan is made of (docker_pool.h); two are the same
 * when one can stand for the other. */
int mr_docker_key(const struct mr_docker_plan *plan, char ret[MR_HASH_HEX_SIZE],
		  struct mr_error *err);
