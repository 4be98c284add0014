/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults in menace-netd
 *
 * Until the supervisor says that the payload has begun it is the first instant, so that an outage
 * from the start on is in force whatever comes first, a question or that word.
 */
#include "netns/netd_faults.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/str.h"

static bool has_names(const struct mr_outage *outage)
{
	for (size_t i = 0; i < outage->n_hosts; i++)
		if (outage->hosts[i].rule.kind != MR_RULE_ADDRESS)
			return true;
	return false;
}

int mr_netd_faults_add(struct mr_netd_faults *faults, const char *text, struct mr_error *err)
{
	int r;

	if (faults->n == MR_OUTAGES_MAX)
		return mr_err(err, MR_E_PROTO, E2BIG, "too many faults");
	if (!faults->v)
		faults->v = mr_str_alloc(MR_OUTAGES_MAX * sizeof(*faults->v));
	r = mr_outage_parse(text, &faults->v[faults->n], err);
	if (r < 0)
		return r;
	if (!mr_outage_is_of_names(&faults->v[faults->n]))
		faults->by_name |= has_names(&faults->v[faults->n]);
	faults->n++;
	return 0;
}

int mr_netd_faults_add_all(struct mr_netd_faults *faults, const char *texts, size_t size,
			   struct mr_error *err)
{
	int r = 0;

	while (r == 0 && size > 0) {
		const size_t n = strnlen(texts, size);

		if (n == size)
			return mr_err(err, MR_E_PROTO, EPROTO, "the faults are cut off");
		r = mr_netd_faults_add(faults, texts, err);
		texts += n + 1;
		size -= n + 1;
	}
	return r;
}

void mr_netd_faults_deinit(struct mr_netd_faults *faults)
{
	free(faults->v);
	*faults = (struct mr_netd_faults){ 0 };
}

bool mr_netd_faults_begin(struct mr_netd_faults *faults, const void *message, size_t size)
{
	struct mr_netd_begin begin;

	if (size != sizeof(begin))
		return false;
	memcpy(&begin, message, sizeof(begin));
	if (begin.head.type != MR_NETD_BEGIN)
		return false;
	faults->begin_ns = begin.begin_ns;
	return true;
}

bool mr_netd_faults_take(struct mr_netd_faults *faults, const char *name)
{
	const uint64_t now = faults->n && faults->begin_ns ? mr_now_ns() : 0;

	return mr_outages_take_name(faults->v, faults->n, name,
				    now > faults->begin_ns ? now - faults->begin_ns : 0,
				    faults->met);
}

bool mr_netd_faults_tell(const struct mr_netd_faults *faults, size_t *first,
			 struct mr_netd_met *ret)
{
	const size_t left = faults->n - *first;

	if (left == 0)
		return false;
	*ret = (struct mr_netd_met){
		.head = { .type = MR_NETD_MET, .size = sizeof(*ret) },
		.first = (uint32_t)*first,
		.n = (uint32_t)(left < MR_NETD_MET_MAX ? left : MR_NETD_MET_MAX),
	};
	for (uint32_t i = 0; i < ret->n; i++) {
		const struct mr_outage *outage = &faults->v[*first + i];

		ret->windows[i] = (struct mr_netd_window){
			.from_ms = outage->from_ms,
			.to_ms = outage->to_ms,
			.met = faults->met[*first + i],
		};
	}
	*first += ret->n;
	return true;
}
