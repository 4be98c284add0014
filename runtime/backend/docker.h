/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Docker: a run in a container
 *
 * The backend that tools/menace-docker.c is; backends.def says what it can do and what it loses.
 * A container is of one run, made for it or prepared before (docker_pool.h); it is never used again,
 * and is removed on every way out.
 */
#pragma once

#include <stdint.h>

struct json_t;
struct mr_docker_pool_news;
struct mr_errand;
struct mr_error;

/* Is an engine there that answers?  0, or why not; *ret_facts (new reference): which one. */
int mr_docker_probe(struct json_t **ret_facts, struct mr_error *err);

/* Do the run.  Always gives a result, menace.result/1; new reference.  *ret_news: for the pool. */
struct json_t *mr_docker_run(const struct mr_errand *errand, struct mr_docker_pool_news *ret_news);
