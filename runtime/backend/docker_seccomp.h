/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Docker, seccomp: a level of syscalls.def as the profile of an engine
 *
 * What the engine's runtime (runc, crun) makes of a profile is its library's choice: of rules about
 * the arguments of one call those about higher arguments come first, and of those about the same
 * the more precise.  So a profile is never looser than the program that we load ourselves
 * (tests/unit/test-docker-seccomp.c compares them), but may refuse more:
 *
 *   - a row that lets some arguments pass is of no use where a later one refuses more of them
 *   - calls that the supervisor judges (WATCH) are as their rows are without it
 */
#pragma once

struct json_t;

/* New reference. */
struct json_t *mr_docker_seccomp(unsigned int level);
