/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sibling: another program of ours
 *
 * It lies beside our own executable or in the libexec or bin folder of the same prefix,
 * nowhere that the environment could name.
 */
#pragma once

#include <limits.h>

struct mr_error;

#define MR_SIBLING_MAX (PATH_MAX + 64)

/* Look in this folder alone from now on: for a program whose own path does not say where it is. */
void mr_sibling_look_in(const char *folder);
/* 0 and its path, or MR_E_KERNEL: it is not there. */
int mr_sibling_find(const char *name, char ret[MR_SIBLING_MAX], struct mr_error *err);
