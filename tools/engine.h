/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Engine: what commands of menace ask of a Docker Engine, through menace-docker
 *
 * libcurl comes with thirty shared objects, and only that program has them (tools/docker_tasks.h).
 */
#pragma once

struct json_t;
struct mr_error;

/* words: the name of a task and what follows, NULL-terminated.  0 and what it tells, new reference;
 * negative and its own error.  MR_E_KERNEL where no engine answers. */
int mr_engine_ask(const char *const *words, struct json_t **ret, struct mr_error *err);
