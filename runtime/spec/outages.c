/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spec: failures of the link for a while, net.faults
 *
 * Kept as texts in their one form (netns/outage.h).  In a document each is such a text or an object
 * of its parts; the canonical form is the object.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "netns/outage.h"
#include "runtime/base/buf.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/spec/internal.h"
#include "runtime/spec/net.h"
#include "runtime/spec/spec.h"

int mr_spec_add_fault(struct mr_spec *spec, const char *text, struct mr_error *err)
{
	mr_auto_free char *canonical = NULL;
	struct mr_outage outage;
	int r = mr_outage_parse(text, &outage, err);

	if (r < 0)
		return r;
	if (spec->net_faults.n == MR_OUTAGES_MAX)
		return mr_err(err, MR_E_USAGE, E2BIG, "too many faults; accepted: at most %d",
			      MR_OUTAGES_MAX);
	canonical = mr_outage_print(&outage);
	mr_strv_add(&spec->net_faults, canonical);
	return 0;
}

size_t mr_spec_outages(const struct mr_spec *spec, struct mr_outage **ret)
{
	const size_t n = spec->net_faults.n;
	struct mr_error err;

	*ret = mr_str_alloc((n + 1) * sizeof(**ret));
	for (size_t i = 0; i < n; i++)
		mr_assert(mr_outage_parse(spec->net_faults.v[i], &(*ret)[i], &err) == 0);
	return n;
}

bool mr_spec_cuts_link(const struct mr_spec *spec)
{
	mr_auto_free struct mr_outage *outages = NULL;
	const size_t n = mr_spec_outages(spec, &outages);
	bool cuts = false;

	for (size_t i = 0; i < n; i++)
		cuts |= !mr_outage_is_of_names(&outages[i]);
	return cuts;
}

/* --- documents ------------------------------------------------------------------------- */

static int take_hosts(const struct mr_json *list, struct mr_buf *text, struct mr_error *err)
{
	int r = mr_json_want_array(list, err);

	if (r == 0 && json_array_size(list->value) == 0)
		return mr_json_err(list, err, "an empty list; leave it out for all hosts");
	for (size_t i = 0; r == 0 && i < json_array_size(list->value); i++) {
		struct mr_json item = mr_json_item(list, i);
		const char *host = NULL;

		r = mr_json_get_string(&item, &host, err);
		if (r == 0 && strpbrk(host, ",@"))
			return mr_json_err(&item, err,
					   "one host an item: neither a comma nor \"@\" is "
					   "accepted");
		if (r == 0) {
			mr_buf_add(text, i == 0 ? ":" : ",");
			mr_buf_add(text, host);
		}
	}
	return r;
}

static int take_times(const struct mr_json *row, struct mr_buf *text, struct mr_error *err)
{
	mr_auto_free char *window = NULL;
	uint64_t from_ms = 0, to_ms = 0;
	struct mr_json member;
	int r;

	if (!mr_json_member(row, "from_ms", &member))
		return mr_json_err(row, err, "\"from_ms\" is missing");
	r = mr_json_get_uint(&member, 0, MR_OUTAGE_TIME_MAX_MS, &from_ms, err);
	window = mr_str_format("@%" PRIu64 "ms..", from_ms);
	mr_buf_add(text, window);
	if (r < 0 || !mr_json_member(row, "to_ms", &member) || json_is_null(member.value))
		return r;
	r = mr_json_get_uint(&member, 0, MR_OUTAGE_TIME_MAX_MS, &to_ms, err);
	mr_freep(&window);
	window = mr_str_format("%" PRIu64 "ms", to_ms);
	mr_buf_add(text, window);
	return r;
}

static int take_row(const struct mr_json *row, struct mr_buf *text, struct mr_error *err)
{
	static const char *const keys[] = { "kind", "hosts", "from_ms", "to_ms", NULL };
	const char *kind = NULL;
	struct mr_json member;
	int r = mr_json_want_object(row, err);

	if (r == 0)
		r = mr_json_check_keys(row, keys, err);
	if (r == 0 && !mr_json_member(row, "kind", &member))
		return mr_json_err(row, err, "\"kind\" is missing");
	if (r == 0)
		r = mr_json_get_string(&member, &kind, err);
	if (r < 0)
		return r;
	mr_assert(kind);
	if (strpbrk(kind, ":@"))
		return mr_json_err(&member, err, "not the name of a kind");
	mr_buf_add(text, kind);
	if (mr_json_member(row, "hosts", &member) && !json_is_null(member.value))
		r = take_hosts(&member, text, err);
	return r < 0 ? r : take_times(row, text, err);
}

int mr_spec_take_faults(struct mr_spec *spec, const struct mr_json *list, struct mr_error *err)
{
	int r = mr_json_want_array(list, err);

	for (size_t i = 0; r == 0 && i < json_array_size(list->value); i++) {
		struct mr_json item = mr_json_item(list, i);
		mr_auto_buf struct mr_buf text = { 0 };
		const char *word = NULL;

		if (json_is_object(item.value))
			r = take_row(&item, &text, err);
		else
			r = mr_json_get_string(&item, &word, err);
		if (r < 0)
			return r;
		r = mr_spec_add_fault(spec, word ? word : text.text, err);
		if (r < 0)
			return mr_json_wrap(&item, r, err);
	}
	return r;
}

json_t *mr_outage_to_json(const struct mr_outage *outage)
{
	json_t *object = json_pack("{s:s, s:I, s:o}", "kind", mr_outage_kind_name(outage->kind),
				   "from_ms", (json_int_t)outage->from_ms, "to_ms",
				   outage->to_ms == MR_OUTAGE_NO_END
					   ? json_null()
					   : json_integer((json_int_t)outage->to_ms));
	json_t *hosts = outage->n_hosts ? json_array() : json_null();

	for (size_t i = 0; i < outage->n_hosts; i++) {
		mr_auto_free char *host = mr_outage_print_host(&outage->hosts[i]);

		json_array_append_new(hosts, json_string(host));
	}
	mr_assert(json_object_set_new(object, "hosts", hosts) == 0);
	return object;
}

json_t *mr_spec_faults_json(const struct mr_spec *spec)
{
	mr_auto_free struct mr_outage *outages = NULL;
	const size_t n = mr_spec_outages(spec, &outages);
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, mr_outage_to_json(&outages[i]));
	return list;
}

/* --- with the rest --------------------------------------------------------------------- */

/* A name leads somewhere only where somebody resolves it. */
static const char *loopback_hindrance(const struct mr_outage *outage)
{
	if (mr_outage_is_of_names(outage))
		return "with net.mode loopback there is no resolver";
	for (size_t i = 0; i < outage->n_hosts; i++)
		if (outage->hosts[i].rule.kind != MR_RULE_ADDRESS)
			return "with net.mode loopback no name leads anywhere; accepted: addresses";
	return NULL;
}

const char *mr_spec_outage_hindrance(const struct mr_spec *spec, const struct mr_outage *outage)
{
	if (spec->sandbox_level < 2)
		return "level 1 keeps the capability to take it away; accepted: level 2 to 5";
	if (!mr_spec_has_link(spec))
		return "there is no link but with --net loopback, stub or allowlist";
	return spec->net_mode == MR_NET_LOOPBACK ? loopback_hindrance(outage) : NULL;
}

int mr_spec_check_faults(const struct mr_spec *spec, const struct mr_spec_labels *labels,
			 struct mr_error *err)
{
	mr_auto_free struct mr_outage *outages = NULL;
	const size_t n = mr_spec_outages(spec, &outages);

	(void)labels;
	for (size_t i = 0; i < n && !mr_spec_tolerates(spec, "net"); i++) {
		const char *why = mr_spec_outage_hindrance(spec, &outages[i]);

		if (why)
			return mr_err(err, MR_E_USAGE, EINVAL,
				      "net.faults (--net-fault): \"%.160s\": %s; leave it out, or "
				      "accept that with best_effort (--best-effort net)",
				      spec->net_faults.v[i], why);
	}
	return 0;
}
