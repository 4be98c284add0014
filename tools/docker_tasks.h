/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Docker tasks: what menace asks menace-docker for
 *
 *   menace-docker task NAME [WORD...]
 *
 * The answer is one document on standard output: {"done": ...} with what the task tells, or
 * {"error": {"code": number of enum mr_errc, "errno": ..., "message": ...}}.  The other side of it
 * is tools/engine.[ch].
 */
#pragma once

struct mr_error;

/* words: the name of the task and what follows, NULL-terminated.  0 when an answer was written,
 * whatever it says. */
int mr_docker_task(char *const *words, struct mr_error *err);
