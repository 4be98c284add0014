/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many files this process may have open
 */
#pragma once

#include <stdint.h>

struct mr_error;

/* Raise the soft limit of open files to wanted, or as far as the hard one lets us; never lower it.
 * *ret: what is allowed then.  UINT64_MAX wants as many as can be had. */
int mr_open_files_allow(uint64_t wanted, uint64_t *ret, struct mr_error *err);
