/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rate
 *
 * A bucket of 4 ms, but of two full packets at least, so that small rates go out
 * packet by packet and high ones do not depend on how exact timers are.
 */
#include "netns/rate.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/pkt_sched.h>
#include <stdbool.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"

#define TICK_NS 64
#define BURST_MIN 3100 /* two packets of 1500 bytes with their headers */
#define BURST_PER_SECOND 250
#define LIMIT_MIN 65536
#define LIMIT_MAX (32 << 20) /* memory of the host: packets that wait are nobody's */

int mr_rate_check(uint64_t bits, struct mr_error *err)
{
	if (bits >= MR_RATE_MIN)
		return 0;
	return mr_err(err, MR_E_USAGE, ERANGE,
		      "a rate of %" PRIu64 " bit/s is under what sch_tbf can hold, %d bit/s", bits,
		      MR_RATE_MIN);
}

uint32_t mr_rate_limit(uint64_t bits)
{
	const uint64_t bytes = bits / 8 / 5;

	if (bytes > LIMIT_MAX)
		return LIMIT_MAX;
	return bytes < LIMIT_MIN ? LIMIT_MIN : (uint32_t)bytes;
}

void mr_rate_build(uint64_t bits, struct mr_attrs *options)
{
	const uint64_t rate = bits / 8;
	const uint64_t burst =
		rate / BURST_PER_SECOND < BURST_MIN ? BURST_MIN : rate / BURST_PER_SECOND;
	const struct tc_tbf_qopt opt = {
		.rate = { .rate = (uint32_t)rate, .linklayer = TC_LINKLAYER_ETHERNET },
		.limit = mr_rate_limit(bits),
		.buffer = (uint32_t)(burst * 1000000000 / rate / TICK_NS),
	};

	mr_attrs_put(options, TCA_TBF_PARMS, &opt, sizeof(opt));
}

static int read_options(const struct mr_attrs *options, struct tc_tbf_qopt *ret)
{
	struct mr_attr attr;
	bool found = false;
	size_t at = 0;
	int r;

	while ((r = mr_attrs_next(options->bytes, options->n, &at, &attr)) > 0) {
		if (attr.type != TCA_TBF_PARMS)
			continue;
		mr_attr_copy(&attr, ret, sizeof(*ret));
		found = true;
	}
	return r < 0 || !found ? -EBADMSG : 0;
}

int mr_rate_compare(const struct mr_attrs *built, const struct mr_attrs *shown, uint64_t *ret_bits,
		    struct mr_error *err)
{
	struct tc_tbf_qopt wanted, kernel;

	mr_assert(read_options(built, &wanted) == 0);
	if (read_options(shown, &kernel) < 0)
		return mr_err(err, MR_E_PROTO, EBADMSG,
			      "tbf: the options that the kernel shows are malformed");
	const struct {
		const char *name;
		uint32_t built, shown;
	} rows[] = {
		{ "rate", wanted.rate.rate, kernel.rate.rate },
		{ "overhead", wanted.rate.overhead, kernel.rate.overhead },
		{ "mpu", wanted.rate.mpu, kernel.rate.mpu },
		{ "peakrate", wanted.peakrate.rate, kernel.peakrate.rate },
		{ "limit", wanted.limit, kernel.limit },
		{ "buffer", wanted.buffer, kernel.buffer },
		{ "mtu", wanted.mtu, kernel.mtu },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		if (rows[i].built != rows[i].shown)
			return mr_err(err, MR_E_KERNEL, EPROTO,
				      "tbf: %s is %u in the kernel, not %u", rows[i].name,
				      rows[i].shown, rows[i].built);
	*ret_bits = (uint64_t)kernel.rate.rate * 8;
	return 0;
}
