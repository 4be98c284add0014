/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The compiled programs, as bytes in the loader
 */
#pragma once

#include <stddef.h>

struct mr_bpf_object {
	const char *name;
	const unsigned char *start, *end;
};
extern const struct mr_bpf_object mr_bpf_objects[];
extern const size_t mr_n_bpf_objects;
