/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rate: a rate made by the kernel's sch_tbf, where sch_netem is missing
 */
#pragma once

#include <stdint.h>

#include "netns/attrs.h"

struct mr_error;

/* Bits a second: below, what a packet may take does not fit into the kernel's 32 bits. */
#define MR_RATE_MIN 128

/* MR_E_USAGE for a rate that tbf cannot hold. */
int mr_rate_check(uint64_t bits, struct mr_error *err);
/* Bytes that may wait: what goes out in 200 ms, within bounds. */
uint32_t mr_rate_limit(uint64_t bits);
/* TCA_OPTIONS, empty before. */
void mr_rate_build(uint64_t bits, struct mr_attrs *options);
/* What the kernel shows against what was built: the rate in force in *ret_bits, or an error naming
 * what differs. */
int mr_rate_compare(const struct mr_attrs *built, const struct mr_attrs *shown, uint64_t *ret_bits,
		    struct mr_error *err);
