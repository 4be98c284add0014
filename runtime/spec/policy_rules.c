/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policy: what it says
 *
 * Answers to single questions, the document as it is printed, and what it takes
 * from a spec.  Nothing here ever adds to what a spec gives.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/spec/internal.h"
#include "runtime/spec/policy.h"

/* In the order in which they are printed. */
static const struct access_word {
	const char *name;
	unsigned int bit;
} access_words[] = {
	{ "read", MR_POLICY_READ }, { "write", MR_POLICY_WRITE }, { "execute", MR_POLICY_EXECUTE },
	{ "make", MR_POLICY_MAKE }, { "list", MR_POLICY_LIST },
};

unsigned int mr_policy_access_find(const char *name)
{
	for (size_t i = 0; i < N_ELEMENTS(access_words); i++)
		if (strcmp(access_words[i].name, name) == 0)
			return access_words[i].bit;
	return 0;
}

json_t *mr_policy_access_json(unsigned int access)
{
	json_t *list = json_array();

	for (size_t i = 0; i < N_ELEMENTS(access_words); i++)
		if (access & access_words[i].bit)
			json_array_append_new(list, json_string(access_words[i].name));
	return list;
}

const char *mr_policy_access_text(unsigned int access, char buf[MR_POLICY_ACCESS_SIZE])
{
	struct mr_str text;

	mr_str_init(&text, buf, MR_POLICY_ACCESS_SIZE);
	for (size_t i = 0; i < N_ELEMENTS(access_words); i++)
		if (access & access_words[i].bit)
			mr_str_printf(&text, "%s%s", text.len ? ", " : "", access_words[i].name);
	return buf;
}

const char *mr_policy_protocol_name(enum mr_policy_protocol protocol)
{
	static const char *const names[] = {
		[MR_POLICY_ANY_PROTOCOL] = "any",
		[MR_POLICY_TCP] = "tcp",
		[MR_POLICY_UDP] = "udp",
	};

	return names[protocol];
}

/* --- questions --------------------------------------------------------------- */

/* Without these a program could not even end, or come back from a handler: refusing them protects
 * nothing. */
static const char *const floor_calls[] = { "exit", "exit_group", "restart_syscall",
					   "rt_sigreturn" };

bool mr_policy_is_floor(unsigned int nr)
{
	const char *name = mr_policy_call_name(nr);

	for (size_t i = 0; name && i < N_ELEMENTS(floor_calls); i++)
		if (strcmp(floor_calls[i], name) == 0)
			return true;
	return false;
}

size_t mr_policy_floor_paths(const struct mr_spec *spec,
			     struct mr_policy_path ret[MR_POLICY_FLOOR_PATHS])
{
	static char null[] = "/dev/null", terminals[] = "/dev/pts/";

	ret[0] = (struct mr_policy_path){ null, MR_POLICY_READ | MR_POLICY_WRITE };
	ret[1] = (struct mr_policy_path){ terminals, MR_POLICY_READ | MR_POLICY_WRITE };
	return spec->sandbox_tty ? 2 : 1;
}

bool mr_policy_allows_call(const struct mr_policy *policy, unsigned int nr)
{
	if (!policy->has_syscalls || mr_policy_is_floor(nr))
		return true;
	return nr < MR_POLICY_SYSCALLS && policy->syscalls[nr / 64] >> nr % 64 & 1;
}

static int compare_paths(const void *a, const void *b)
{
	return strcmp(((const struct mr_policy_path *)a)->path,
		      ((const struct mr_policy_path *)b)->path);
}

size_t mr_policy_sort_paths(struct mr_policy_path *paths, size_t n)
{
	size_t kept = 0;

	qsort(paths, n, sizeof(*paths), compare_paths);
	for (size_t i = 0; i < n; i++) {
		if (kept > 0 && compare_paths(&paths[kept - 1], &paths[i]) == 0) {
			paths[kept - 1].access |= paths[i].access;
			free(paths[i].path);
		} else {
			paths[kept++] = paths[i];
		}
	}
	return kept;
}

/* Entry of the first len bytes of a path. */
static unsigned int lookup_prefix(const struct mr_policy_path *paths, size_t n, const char *path,
				  size_t len)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		const size_t mid = lo + (hi - lo) / 2;
		int r = strncmp(paths[mid].path, path, len);

		if (r == 0 && paths[mid].path[len] == '\0')
			return paths[mid].access;
		if (r < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return 0;
}

unsigned int mr_policy_lookup(const struct mr_policy_path *paths, size_t n, const char *path)
{
	size_t size = strlen(path);
	unsigned int access = lookup_prefix(paths, n, path, size);

	for (size_t len = 1; len < size; len++)
		if (path[len - 1] == '/')
			access |= lookup_prefix(paths, n, path, len);
	return access;
}

static bool is_loopback(const char *host)
{
	return strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0;
}

bool mr_policy_allows_host(const struct mr_policy *policy, const char *host, unsigned int port,
			   enum mr_policy_protocol protocol)
{
	if (!policy->has_hosts)
		return true;
	for (size_t i = 0; i < policy->n_hosts; i++) {
		const struct mr_policy_host *h = &policy->hosts[i];

		if ((strcmp(h->host, "any") == 0 || strcmp(h->host, host) == 0 ||
		     (strcmp(h->host, "loopback") == 0 && is_loopback(host))) &&
		    (h->port == 0 || h->port == port) &&
		    (h->protocol == MR_POLICY_ANY_PROTOCOL || h->protocol == protocol))
			return true;
	}
	return false;
}

/* --- the document -------------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static json_t *syscalls_json(const struct mr_policy *policy)
{
	const char *names[MR_POLICY_SYSCALLS];
	json_t *list = json_array();
	size_t n = 0;

	for (unsigned int nr = 0; nr < MR_POLICY_SYSCALLS; nr++)
		if (policy->syscalls[nr / 64] >> nr % 64 & 1)
			names[n++] = mr_policy_call_name(nr);
	qsort(names, n, sizeof(names[0]), compare_names);
	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, json_string(names[i]));
	return list;
}

int mr_policy_get_path(const struct mr_json *json, char **ret, struct mr_error *err)
{
	return mr_spec_get_text(json, ret, err);
}

json_t *mr_policy_path_json(const char *path)
{
	mr_auto_free char *encoded = NULL;

	if (mr_str_utf8_valid(path, strlen(path)))
		return json_string(path);
	encoded = mr_str_base64(path, strlen(path));
	return json_pack("{s:s}", "base64", encoded);
}

static json_t *paths_json(const struct mr_policy *policy)
{
	json_t *list = json_array();

	for (size_t i = 0; i < policy->n_paths; i++)
		json_array_append_new(list,
				      json_pack("{s:o, s:o}", "path",
						mr_policy_path_json(policy->paths[i].path),
						"access",
						mr_policy_access_json(policy->paths[i].access)));
	return list;
}

static json_t *hosts_json(const struct mr_policy *policy)
{
	json_t *list = json_array();

	for (size_t i = 0; i < policy->n_hosts; i++) {
		const struct mr_policy_host *h = &policy->hosts[i];

		json_array_append_new(list,
				      json_pack("{s:s, s:o, s:s}", "host", h->host, "port",
						h->port ? json_integer(h->port)
							: json_string("any"),
						"protocol", mr_policy_protocol_name(h->protocol)));
	}
	return list;
}

static json_t *limits_json(const struct mr_policy *policy)
{
	json_t *object = json_object();

	for (size_t i = 0; i < MR_POLICY_LIMITS; i++) {
		const struct mr_policy_limit *limit = &policy->limits[i];
		json_t *value;

		if (!limit->given)
			continue;
		if (limit->peak)
			value = json_pack("{s:I, s:I}", "peak", (json_int_t)limit->peak,
					  "margin_percent", (json_int_t)limit->margin_percent);
		else if (limit->value == MR_UNLIMITED)
			value = json_string("unlimited");
		else
			value = json_integer((json_int_t)limit->value);
		json_object_set_new(object, mr_spec_fields()[mr_policy_limit_field(i)].name, value);
	}
	return object;
}

json_t *mr_policy_to_json(const struct mr_policy *policy)
{
	json_t *document = json_pack("{s:s}", "schema", MR_POLICY_SCHEMA);

	if (policy->name)
		json_object_set_new(document, "name", json_string(policy->name));
	if (policy->has_syscalls)
		json_object_set_new(document, "syscalls", syscalls_json(policy));
	if (policy->has_paths)
		json_object_set_new(document, "paths", paths_json(policy));
	if (policy->has_hosts)
		json_object_set_new(document, "hosts", hosts_json(policy));
	json_object_set_new(document, "limits", limits_json(policy));
	return document;
}

/* --- what it takes from a spec -------------------------------------------------- */

static void narrow_limits(const struct mr_policy *policy, struct mr_spec *spec)
{
	for (size_t i = 0; i < MR_POLICY_LIMITS; i++) {
		enum mr_field_id id = mr_policy_limit_field(i);

		if (policy->limits[i].given && policy->limits[i].value < mr_spec_get(spec, id))
			mr_spec_set_number(spec, id, policy->limits[i].value, MR_ORIGIN_POLICY);
	}
}

/* A network of its own with nothing but lo reaches what "loopback" alone stands for. */
static bool allows_all_of_loopback(const struct mr_policy *policy)
{
	for (size_t i = 0; i < policy->n_hosts; i++) {
		const struct mr_policy_host *h = &policy->hosts[i];

		if (h->port == 0 && h->protocol == MR_POLICY_ANY_PROTOCOL &&
		    (strcmp(h->host, "any") == 0 || strcmp(h->host, "loopback") == 0))
			return true;
	}
	return false;
}

static bool allows_everything(const struct mr_policy *policy)
{
	for (size_t i = 0; i < policy->n_hosts; i++) {
		const struct mr_policy_host *h = &policy->hosts[i];

		if (h->port == 0 && h->protocol == MR_POLICY_ANY_PROTOCOL &&
		    strcmp(h->host, "any") == 0)
			return true;
	}
	return false;
}

static int narrow_hosts(const struct mr_policy *policy, struct mr_spec *spec,
			const char **ret_unenforced, struct mr_error *err)
{
	static const char why[] = "single hosts, ports and protocols cannot be told apart: a run "
				  "has no network, one of its own, or the host's";

	if (!policy->has_hosts)
		return 0;
	if (policy->n_hosts == 0)
		mr_spec_set_number(spec, MR_FIELD_net_mode, MR_NET_NONE, MR_ORIGIN_POLICY);
	if (spec->net_mode == MR_NET_NONE ||
	    ((spec->net_mode == MR_NET_LOOPBACK || spec->net_mode == MR_NET_STUB) &&
	     allows_all_of_loopback(policy)) ||
	    (spec->net_mode == MR_NET_HOST && allows_everything(policy)))
		return 0;
	if (!mr_spec_tolerates(spec, "policy-hosts"))
		return mr_err(err, MR_E_KERNEL, EOPNOTSUPP,
			      "policy: hosts cannot be enforced: %s; use --net none, or "
			      "--best-effort policy-hosts to run without",
			      why);
	if (ret_unenforced)
		*ret_unenforced = why;
	return 0;
}

int mr_policy_narrow(struct mr_spec *spec, const char **ret_unenforced, struct mr_error *err)
{
	if (ret_unenforced)
		*ret_unenforced = NULL;
	if (!spec->policy)
		return 0;
	narrow_limits(spec->policy, spec);
	return narrow_hosts(spec->policy, spec, ret_unenforced, err);
}
