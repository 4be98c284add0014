/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spec: the mocks of the network
 *
 * In a document they are an object by target.  A value is the text of an action, as on the
 * command line, or an object of its items; the canonical form is the object.  The bodies
 * of files are read when a run begins, not here.
 */
#include <errno.h>
#include <string.h>

#include "netns/mock.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/base/units.h"
#include "runtime/spec/internal.h"
#include "runtime/spec/spec.h"

int mr_spec_add_mock(struct mr_spec *spec, const char *text, struct mr_error *err)
{
	struct mr_mock mock;
	int r = mr_mock_parse(text, &mock, err);

	return r < 0 ? r : mr_mocks_add(&spec->mocks, &mock, err);
}

static int take_action(struct mr_mock *mock, const struct mr_json *json, struct mr_error *err)
{
	const char *action = NULL;
	int r = mr_json_get_string(json, &action, err);

	if (r < 0)
		return r;
	r = mr_mock_parse_action(mock, action, err);
	return r < 0 ? mr_json_wrap(json, r, err) : 0;
}

static int take_headers(struct mr_mock *mock, const struct mr_json *json, struct mr_error *err)
{
	const char *name;
	json_t *value;
	int r = mr_json_want_object(json, err);

	if (r < 0)
		return r;
	json_object_foreach (json->value, name, value) {
		struct mr_json member = {
			.value = value, .parent = json, .key = name, .source = json->source
		};
		mr_auto_free char *header = NULL;
		const char *text = NULL;

		r = mr_json_get_string(&member, &text, err);
		if (r < 0)
			return r;
		if (strchr(name, ':'))
			return mr_json_err(&member, err, "not the name of a header");
		header = mr_str_format("%s:%s", name, text);
		r = mr_mock_set(mock, "header", header, err);
		if (r < 0)
			return mr_json_wrap(&member, r, err);
	}
	return 0;
}

static int take_body(struct mr_mock *mock, const struct mr_json *json, struct mr_error *err)
{
	mr_auto_free char *body = NULL;
	size_t size = 0;
	int r = mr_spec_get_bytes(json, &body, &size, err);

	if (r < 0)
		return r;
	r = mr_mock_set_body(mock, body, size, err);
	return r < 0 ? mr_json_wrap(json, r, err) : 0;
}

static int take_file(struct mr_mock *mock, const struct mr_json *json, struct mr_error *err)
{
	mr_auto_free char *path = NULL;
	int r = mr_spec_get_text(json, &path, err);

	if (r < 0)
		return r;
	r = mr_mock_set(mock, "file", path, err);
	return r < 0 ? mr_json_wrap(json, r, err) : 0;
}

/* status, delay, within, fail: a text or a number. */
static int take_item(struct mr_mock *mock, const struct mr_json *json, struct mr_error *err)
{
	mr_auto_free char *text = NULL;
	int r = mr_json_get_text(json, &text, err);

	if (r < 0)
		return r;
	r = mr_mock_set(mock, json->key, text, err);
	return r < 0 ? mr_json_wrap(json, r, err) : 0;
}

/* A text is split into words as on the command line, a list has them. */
static int take_exec(struct mr_mock *mock, const struct mr_json *json, struct mr_error *err)
{
	struct mr_strv words = { 0 };
	int r = 0;

	if (!json_is_array(json->value))
		return take_item(mock, json, err);
	for (size_t i = 0; r == 0 && i < json_array_size(json->value); i++) {
		const struct mr_json element = mr_json_item(json, i);
		mr_auto_free char *word = NULL;

		r = mr_spec_get_text(&element, &word, err);
		if (r == 0)
			mr_strv_add(&words, word);
	}
	if (r == 0) {
		r = mr_mock_set_words(mock, (const char *const *)words.v, words.n, err);
		if (r < 0)
			mr_json_wrap(json, r, err);
	}
	mr_strv_clear(&words);
	return r;
}

static const struct {
	const char *key;
	int (*take)(struct mr_mock *mock, const struct mr_json *json, struct mr_error *err);
} members[] = {
	{ "status", take_item }, { "headers", take_headers }, { "type", take_item },
	{ "body", take_body },	 { "file", take_file },	      { "delay", take_item },
	{ "fail", take_item },	 { "exec", take_exec },	      { "within", take_item },
};

static int take_members(struct mr_mock *mock, const struct mr_json *json, struct mr_error *err)
{
	const char *keys[N_ELEMENTS(members) + 1] = { NULL };
	struct mr_json member;
	int r = mr_json_want_object(json, err);

	for (size_t i = 0; i < N_ELEMENTS(members); i++)
		keys[i] = members[i].key;
	if (r == 0)
		r = mr_json_check_keys(json, keys, err);
	for (size_t i = 0; r == 0 && i < N_ELEMENTS(members); i++)
		if (mr_json_member(json, members[i].key, &member))
			r = members[i].take(mock, &member, err);
	return r;
}

int mr_spec_take_mock(struct mr_spec *spec, const struct mr_json *json, struct mr_error *err)
{
	struct mr_mock mock = { 0 };
	int r = mr_mock_parse_target(&mock, json->key, err);

	if (r < 0) {
		mr_json_wrap(json, r, err);
	} else {
		r = json_is_string(json->value) ? take_action(&mock, json, err)
						: take_members(&mock, json, err);
		if (r == 0) {
			r = mr_mock_check(&mock, err);
			if (r == 0)
				r = mr_mocks_add(&spec->mocks, &mock, err);
			if (r < 0)
				mr_json_wrap(json, r, err);
		}
	}
	mr_mock_deinit(&mock);
	return r;
}

/* --- the canonical form -------------------------------------------------------------- */

static void set(json_t *object, const char *key, json_t *value)
{
	mr_assert(json_object_set_new(object, key, value) == 0);
}

static json_t *headers_json(const struct mr_mock *mock)
{
	json_t *object = json_object();

	for (size_t i = 0; i < mock->n_headers; i++) {
		const size_t n = strcspn(mock->headers[i], ":");
		mr_auto_free char *name = mr_str_ndup(mock->headers[i], n);

		set(object, name, json_string(mock->headers[i] + n + 2));
	}
	return object;
}

static json_t *words_json(const struct mr_mock *mock)
{
	json_t *array = json_array();

	for (size_t i = 0; i < mock->n_words; i++)
		mr_assert(json_array_append_new(array,
						mr_spec_bytes_json(mock->words[i],
								   strlen(mock->words[i]))) == 0);
	return array;
}

static json_t *mock_json(const struct mr_mock *mock)
{
	json_t *object = json_object();
	char fail[MR_MOCK_FAIL_SIZE], delay[MR_UNITS_SIZE];

	if (mock->status)
		set(object, "status", json_integer(mock->status));
	if (mock->n_headers)
		set(object, "headers", headers_json(mock));
	if (mock->file)
		set(object, "file", mr_spec_bytes_json(mock->file, strlen(mock->file)));
	else if (mock->body)
		set(object, "body", mr_spec_bytes_json(mock->body, mock->body_size));
	if (mock->by_command)
		set(object, "exec", words_json(mock));
	if (mock->within_ms)
		set(object, "within", json_string(mr_units_print_timespan(delay, mock->within_ms)));
	if (mock->delay_ms != MR_MOCK_NO_DELAY)
		set(object, "delay", json_string(mr_units_print_timespan(delay, mock->delay_ms)));
	if (mock->fault)
		set(object, "fail", json_string(mr_mock_fail_text(mock, fail)));
	return object;
}

json_t *mr_spec_mocks_json(const struct mr_spec *spec)
{
	json_t *object = json_object();

	for (size_t i = 0; i < spec->mocks.n; i++)
		set(object, spec->mocks.v[i].target, mock_json(&spec->mocks.v[i]));
	return object;
}

/* What the mode makes no use of is no silent part of a request. */
int mr_spec_check_mocks(const struct mr_spec *spec, const struct mr_spec_labels *labels,
			struct mr_error *err)
{
	const char *mode = labels ? labels->name(labels->owner, MR_FIELD_net_mode) : NULL;

	if (spec->net_mode == MR_NET_STUB)
		return 0;
	if (spec->mocks.n > 0)
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "network_mocks (--mock): answers are played with %s=stub alone",
			      mode ? mode : "net.mode");
	if (spec->net_mocks_required)
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "net.mocks_required: there are mocks with %s=stub alone; set that, "
			      "or "
			      "leave it out",
			      mode ? mode : "net.mode");
	if (spec->net_api_latency_ms && !mr_spec_tolerates(spec, "api-latency"))
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "net.api_latency_ms (API_LATENCY_MS): only mocks are answered late "
			      "(net.mode=stub, --net stub); leave it out, or accept that with "
			      "best_effort (--best-effort api-latency)");
	return 0;
}
