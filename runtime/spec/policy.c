/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policy: the document
 *
 * One row of members[] is one member.  Lists are sets: they are sorted and equal
 * elements put together, names of sets of system calls become the calls, so that
 * equal policies have one text and one hash.  What cannot be read exactly is refused.
 */
#include "runtime/spec/policy.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/hash.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/spec/internal.h"

#define MARGIN_MAX 100000

typedef int take_fn(struct mr_policy *policy, const struct mr_json *json, struct mr_error *err);

/* Calls fn for each element of a list. */
static int for_each_item(struct mr_policy *policy, const struct mr_json *json, take_fn *fn,
			 struct mr_error *err)
{
	const json_t *value;
	size_t i;
	int r = mr_json_want_array(json, err);

	if (r < 0)
		return r;
	json_array_foreach (json->value, i, value) {
		struct mr_json item = mr_json_item(json, i);

		r = fn(policy, &item, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int take_schema(struct mr_policy *policy, const struct mr_json *json, struct mr_error *err)
{
	char quoted[MR_STR_QUOTE_SIZE];
	const char *schema = NULL;
	int r = mr_json_get_string(json, &schema, err);

	(void)policy;
	if (r < 0 || strcmp(schema, MR_POLICY_SCHEMA) == 0)
		return r;
	return mr_json_err(json, err, "unknown schema %s; accepted: \"%s\"",
			   mr_str_quote(quoted, sizeof(quoted), schema), MR_POLICY_SCHEMA);
}

static int take_name(struct mr_policy *policy, const struct mr_json *json, struct mr_error *err)
{
	const char *name = NULL;
	int r = mr_json_get_string(json, &name, err);

	if (r < 0)
		return r;
	if (name[0] == '\0' || strlen(name) > 256)
		return mr_json_err(json, err, "a name of %zu bytes; accepted: 1 to 256",
				   strlen(name));
	policy->name = mr_str_dup(name);
	return 0;
}

/* --- system calls ---------------------------------------------------------- */

static const struct call {
	const char *name, *set;
} calls[MR_POLICY_SYSCALLS] = {
#define SYSCALL(name_, nr, set_, allowed_up_to, errno_value, reason) \
	[nr] = { .name = #name_, .set = #set_ },
#include "runtime/spec/syscalls.def"
};

const char *mr_policy_call_name(unsigned int nr)
{
	return nr < MR_POLICY_SYSCALLS ? calls[nr].name : NULL;
}

int mr_policy_call_number(const char *name)
{
	for (int nr = 0; nr < MR_POLICY_SYSCALLS; nr++)
		if (calls[nr].name && strcmp(calls[nr].name, name) == 0)
			return nr;
	return -1;
}

static void allow_call(struct mr_policy *policy, unsigned int nr)
{
	policy->syscalls[nr / 64] |= UINT64_C(1) << nr % 64;
}

static int refuse_call(const struct mr_json *json, const char *name, struct mr_error *err)
{
	const bool is_set = name[0] == '@';
	struct mr_str_nearest nearest;
	char quoted[MR_STR_QUOTE_SIZE];

	mr_str_nearest_init(&nearest, name + is_set);
	for (unsigned int nr = 0; nr < MR_POLICY_SYSCALLS; nr++)
		if (calls[nr].name)
			mr_str_nearest_offer(&nearest, is_set ? calls[nr].set : calls[nr].name);
	mr_str_quote(quoted, sizeof(quoted), name);
	if (nearest.best)
		return mr_json_err(json, err, "unknown %s %s; did you mean \"%s%s\"?",
				   is_set ? "set of system calls" : "system call", quoted,
				   is_set ? "@" : "", nearest.best);
	return mr_json_err(json, err,
			   "unknown %s %s; accepted: the name of a system call, or @ and that of "
			   "a set of them",
			   is_set ? "set of system calls" : "system call", quoted);
}

/* "read", or "@file": all of a set. */
static int take_call(struct mr_policy *policy, const struct mr_json *json, struct mr_error *err)
{
	const char *name = NULL;
	bool found = false;
	int r = mr_json_get_string(json, &name, err);

	if (r < 0)
		return r;
	for (unsigned int nr = 0; nr < MR_POLICY_SYSCALLS; nr++) {
		if (!calls[nr].name || (name[0] == '@' ? strcmp(calls[nr].set, name + 1) != 0
						       : strcmp(calls[nr].name, name) != 0))
			continue;
		allow_call(policy, nr);
		found = true;
	}
	return found ? 0 : refuse_call(json, name, err);
}

static int take_syscalls(struct mr_policy *policy, const struct mr_json *json, struct mr_error *err)
{
	policy->has_syscalls = true;
	return for_each_item(policy, json, take_call, err);
}

/* --- paths ------------------------------------------------------------------ */

/* Whose entry that is differs from process to process. */
static bool is_of_a_process(const char *path)
{
	return mr_str_is_under(path, "/proc/self") || mr_str_is_under(path, "/proc/thread-self") ||
	       (mr_str_starts_with(path, "/proc/") && path[6] >= '0' && path[6] <= '9');
}

static int check_path(const struct mr_json *json, const char *path, struct mr_error *err)
{
	const char *p = path;

	if (is_of_a_process(path))
		return mr_json_err(json, err,
				   "the entries of processes cannot be told apart; accepted: "
				   "/proc/ for all of them");
	if (path[0] != '/')
		return mr_json_err(json, err,
				   "accepted: an absolute path inside the sandbox, with a slash at "
				   "its end for a folder and all below it");
	if (strlen(path) >= PATH_MAX)
		return mr_json_err(json, err, "%zu bytes are too long; accepted: at most %d",
				   strlen(path), PATH_MAX - 1);
	while (*p == '/' && p[1] != '\0') {
		size_t n = strcspn(++p, "/");

		if (n == 0 || (n == 1 && p[0] == '.') || (n == 2 && p[0] == '.' && p[1] == '.'))
			return mr_json_err(json, err,
					   "\".\", \"..\" and empty names are not accepted in a "
					   "path");
		p += n;
	}
	return 0;
}

static int take_access_word(const struct mr_json *json, bool is_folder, unsigned int *access,
			    struct mr_error *err)
{
	char quoted[MR_STR_QUOTE_SIZE];
	const char *word = NULL;
	unsigned int bit;
	int r = mr_json_get_string(json, &word, err);

	if (r < 0)
		return r;
	bit = mr_policy_access_find(word);
	mr_str_quote(quoted, sizeof(quoted), word);
	if (!bit)
		return mr_json_err(json, err,
				   "unknown access %s; accepted: read, write, execute, make, list",
				   quoted);
	if (!is_folder && (bit & (MR_POLICY_MAKE | MR_POLICY_LIST)))
		return mr_json_err(json, err,
				   "%s is for folders, whose path ends in a slash; accepted for "
				   "this path: read, write, execute",
				   quoted);
	*access |= bit;
	return 0;
}

static int get_access(const struct mr_json *json, bool is_folder, unsigned int *ret,
		      struct mr_error *err)
{
	int r = mr_json_want_array(json, err);

	*ret = 0;
	for (size_t i = 0; r == 0 && i < json_array_size(json->value); i++) {
		struct mr_json word = mr_json_item(json, i);

		r = take_access_word(&word, is_folder, ret, err);
	}
	if (r == 0 && !*ret)
		return mr_json_err(json, err,
				   "the list is empty; accepted: read, write, execute, make, list");
	return r;
}

/* Both members of an object that has exactly these. */
static int get_pair(const struct mr_json *json, const char *const keys[3],
		    struct mr_json *ret_first, struct mr_json *ret_second, struct mr_error *err)
{
	int r = mr_json_want_object(json, err);

	if (r == 0)
		r = mr_json_check_keys(json, keys, err);
	if (r < 0)
		return r;
	if (!mr_json_member(json, keys[0], ret_first))
		return mr_json_err(json, err, "\"%s\" is missing", keys[0]);
	if (!mr_json_member(json, keys[1], ret_second))
		return mr_json_err(json, err, "\"%s\" is missing", keys[1]);
	return 0;
}

static int take_path(struct mr_policy *policy, const struct mr_json *json, struct mr_error *err)
{
	static const char *const keys[] = { "path", "access", NULL };
	struct mr_json path_json = { 0 }, access_json = { 0 };
	mr_auto_free char *path = NULL;
	unsigned int access = 0;
	int r = get_pair(json, keys, &path_json, &access_json, err);

	if (r == 0)
		r = mr_spec_get_text(&path_json, &path, err);
	if (r < 0)
		return r;
	mr_assert(path);
	r = check_path(&path_json, path, err);
	if (r == 0)
		r = get_access(&access_json, mr_str_ends_with(path, "/"), &access, err);
	if (r < 0)
		return r;
	/* The list was made with room for all of the document. */
	policy->paths[policy->n_paths++] =
		(struct mr_policy_path){ .path = mr_take_ptr(path), .access = access };
	return 0;
}

static int take_paths(struct mr_policy *policy, const struct mr_json *json, struct mr_error *err)
{
	int r = mr_json_want_array(json, err);

	if (r < 0)
		return r;
	policy->has_paths = true;
	policy->paths = mr_str_alloc((json_array_size(json->value) + 1) * sizeof(*policy->paths));
	r = for_each_item(policy, json, take_path, err);
	policy->n_paths = mr_policy_sort_paths(policy->paths, policy->n_paths);
	return r;
}

/* --- hosts ------------------------------------------------------------------ */

/* The address as the kernel's own text of it, so that texts can be compared. */
static int get_host(const struct mr_json *json, char **ret, struct mr_error *err)
{
	char quoted[MR_STR_QUOTE_SIZE], text[INET6_ADDRSTRLEN];
	const char *host = NULL;
	struct in6_addr in6;
	struct in_addr in;
	int r = mr_json_get_string(json, &host, err);

	if (r < 0)
		return r;
	if (strcmp(host, "any") == 0 || strcmp(host, "loopback") == 0)
		*ret = mr_str_dup(host);
	else if (inet_pton(AF_INET, host, &in) == 1)
		*ret = mr_str_dup(inet_ntop(AF_INET, &in, text, sizeof(text)));
	else if (inet_pton(AF_INET6, host, &in6) == 1)
		*ret = mr_str_dup(inet_ntop(AF_INET6, &in6, text, sizeof(text)));
	else
		return mr_json_err(json, err,
				   "%s; accepted: an IPv4 or IPv6 address, \"loopback\" or \"any\" "
				   "(names are not looked up)",
				   mr_str_quote(quoted, sizeof(quoted), host));
	return 0;
}

static int get_port(const struct mr_json *json, uint16_t *ret, struct mr_error *err)
{
	uint64_t port = 0;
	int r;

	*ret = 0;
	if (json_is_string(json->value) && strcmp(json_string_value(json->value), "any") == 0)
		return 0;
	if (!json_is_integer(json->value))
		return mr_json_err(json, err, "%s; accepted: 1 to 65535, or \"any\"",
				   mr_json_type_name(json->value));
	r = mr_json_get_uint(json, 1, UINT16_MAX, &port, err);
	*ret = (uint16_t)port;
	return r;
}

static int get_protocol(const struct mr_json *json, enum mr_policy_protocol *ret,
			struct mr_error *err)
{
	char quoted[MR_STR_QUOTE_SIZE];
	const char *word = NULL;
	int r = mr_json_get_string(json, &word, err);

	if (r < 0)
		return r;
	for (int i = MR_POLICY_ANY_PROTOCOL; i <= MR_POLICY_UDP; i++) {
		if (strcmp(word, mr_policy_protocol_name((enum mr_policy_protocol)i)) != 0)
			continue;
		*ret = (enum mr_policy_protocol)i;
		return 0;
	}
	return mr_json_err(json, err, "unknown protocol %s; accepted: tcp, udp, any",
			   mr_str_quote(quoted, sizeof(quoted), word));
}

static int take_host(struct mr_policy *policy, const struct mr_json *json, struct mr_error *err)
{
	static const char *const keys[] = { "host", "port", "protocol", NULL };
	struct mr_policy_host host = { 0 };
	struct mr_json member;
	mr_auto_free char *name = NULL;
	int r = mr_json_want_object(json, err);

	if (r == 0)
		r = mr_json_check_keys(json, keys, err);
	if (r < 0)
		return r;
	if (!mr_json_member(json, "host", &member))
		return mr_json_err(json, err, "\"host\" is missing");
	r = get_host(&member, &name, err);
	if (r == 0 && mr_json_member(json, "port", &member))
		r = get_port(&member, &host.port, err);
	if (r == 0 && mr_json_member(json, "protocol", &member))
		r = get_protocol(&member, &host.protocol, err);
	if (r < 0)
		return r;
	host.host = mr_take_ptr(name);
	policy->hosts[policy->n_hosts++] = host;
	return 0;
}

static int compare_hosts(const void *a, const void *b)
{
	const struct mr_policy_host *x = a, *y = b;
	int r = strcmp(x->host, y->host);

	if (r == 0)
		r = (int)x->port - (int)y->port;
	return r ? r : (int)x->protocol - (int)y->protocol;
}

static int take_hosts(struct mr_policy *policy, const struct mr_json *json, struct mr_error *err)
{
	size_t n = 0;
	int r = mr_json_want_array(json, err);

	if (r < 0)
		return r;
	policy->has_hosts = true;
	policy->hosts = mr_str_alloc((json_array_size(json->value) + 1) * sizeof(*policy->hosts));
	r = for_each_item(policy, json, take_host, err);
	qsort(policy->hosts, policy->n_hosts, sizeof(*policy->hosts), compare_hosts);
	for (size_t i = 0; i < policy->n_hosts; i++) {
		if (n > 0 && compare_hosts(&policy->hosts[n - 1], &policy->hosts[i]) == 0)
			free(policy->hosts[i].host);
		else
			policy->hosts[n++] = policy->hosts[i];
	}
	policy->n_hosts = n;
	return r;
}

/* --- limits ----------------------------------------------------------------- */

static const enum mr_field_id limit_fields[MR_POLICY_LIMITS] = {
	MR_FIELD_limits_memory_max_bytes, MR_FIELD_limits_cpu_time_ms, MR_FIELD_limits_wall_ms,
	MR_FIELD_limits_pids_max,	  MR_FIELD_limits_disk_bytes,  MR_FIELD_limits_nofile,
};

enum mr_field_id mr_policy_limit_field(size_t i)
{
	return limit_fields[i];
}

/* In the grammar of the knob. */
static int get_amount(const struct mr_json *json, enum mr_field_id id, uint64_t *ret,
		      struct mr_error *err)
{
	struct mr_spec scratch;
	int r;

	mr_spec_init(&scratch);
	r = mr_spec_set_json(&scratch, id, json, false, MR_ORIGIN_SPEC, err);
	*ret = mr_spec_get(&scratch, id);
	mr_spec_deinit(&scratch);
	return r;
}

/* {"peak": VALUE, "margin_percent": N} */
static int get_peak(const struct mr_json *json, enum mr_field_id id, struct mr_policy_limit *limit,
		    struct mr_error *err)
{
	static const char *const keys[] = { "peak", "margin_percent", NULL };
	const uint64_t max = mr_spec_fields()[id].max;
	struct mr_json peak = { 0 }, margin = { 0 };
	__uint128_t value;
	int r = get_pair(json, keys, &peak, &margin, err);

	if (r == 0)
		r = get_amount(&peak, id, &limit->peak, err);
	if (r == 0)
		r = mr_json_get_uint(&margin, 0, MARGIN_MAX, &limit->margin_percent, err);
	if (r < 0)
		return r;
	if (limit->peak == MR_UNLIMITED)
		return mr_json_err(&peak, err, "a peak is a number; accepted: an amount");
	value = limit->peak + (__uint128_t)limit->peak * limit->margin_percent / 100;
	limit->value = value > max ? max : (uint64_t)value;
	return 0;
}

static int take_limits(struct mr_policy *policy, const struct mr_json *json, struct mr_error *err)
{
	const char *known[MR_POLICY_LIMITS + 1] = { 0 };
	struct mr_json member;
	int r = mr_json_want_object(json, err);

	for (size_t i = 0; i < MR_POLICY_LIMITS; i++)
		known[i] = mr_spec_fields()[limit_fields[i]].name;
	if (r == 0)
		r = mr_json_check_keys(json, known, err);
	for (size_t i = 0; r == 0 && i < MR_POLICY_LIMITS; i++) {
		struct mr_policy_limit *limit = &policy->limits[i];

		if (!mr_json_member(json, known[i], &member))
			continue;
		limit->given = true;
		r = json_is_object(member.value)
			    ? get_peak(&member, limit_fields[i], limit, err)
			    : get_amount(&member, limit_fields[i], &limit->value, err);
	}
	return r;
}

/* --- the whole --------------------------------------------------------------- */

static const struct {
	const char *key;
	take_fn *take;
} members[] = {
	{ "schema", take_schema }, { "name", take_name },   { "syscalls", take_syscalls },
	{ "paths", take_paths },   { "hosts", take_hosts }, { "limits", take_limits },
};

static int take_document(struct mr_policy *policy, const struct mr_json *json, struct mr_error *err)
{
	const char *keys[N_ELEMENTS(members) + 1] = { 0 };
	struct mr_json member;
	int r = mr_json_want_object(json, err);

	for (size_t i = 0; i < N_ELEMENTS(members); i++)
		keys[i] = members[i].key;
	if (r == 0)
		r = mr_json_check_keys(json, keys, err);
	if (r < 0)
		return r;
	if (!json_object_get(json->value, "schema"))
		return mr_json_err(json, err, "\"schema\" is missing; accepted: \"%s\"",
				   MR_POLICY_SCHEMA);
	for (size_t i = 0; r == 0 && i < N_ELEMENTS(members); i++)
		if (mr_json_member(json, members[i].key, &member))
			r = members[i].take(policy, &member, err);
	return r;
}

int mr_policy_parse_json(const struct mr_json *json, struct mr_policy **ret, struct mr_error *err)
{
	mr_auto_policy struct mr_policy *policy = mr_str_alloc(sizeof(*policy));
	mr_auto_json json_t *document = NULL;
	mr_auto_free char *text = NULL;
	int r;

	policy->refs = 1;
	r = take_document(policy, json, err);
	if (r < 0)
		return r;
	document = mr_policy_to_json(policy);
	text = json_dumps(document, JSON_SORT_KEYS | JSON_COMPACT);
	mr_assert(text);
	mr_hash_hex(text, strlen(text), policy->sha256);
	*ret = mr_take_ptr(policy);
	return 0;
}

int mr_policy_parse(const char *text, size_t size, const char *source, struct mr_policy **ret,
		    struct mr_error *err)
{
	mr_auto_json json_t *value = NULL;
	struct mr_json root;
	int r = mr_json_parse(text, size, source, &value, err);

	if (r < 0)
		return r;
	root = mr_json_root(value, source);
	return mr_policy_parse_json(&root, ret, err);
}

struct mr_policy *mr_policy_ref(struct mr_policy *policy)
{
	if (policy)
		policy->refs++;
	return policy;
}

struct mr_policy *mr_policy_unref(struct mr_policy *policy)
{
	if (!policy || --policy->refs > 0)
		return NULL;
	for (size_t i = 0; i < policy->n_paths; i++)
		free(policy->paths[i].path);
	for (size_t i = 0; i < policy->n_hosts; i++)
		free(policy->hosts[i].host);
	free(policy->paths);
	free(policy->hosts);
	free(policy->name);
	free(policy);
	return NULL;
}
