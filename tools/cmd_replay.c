/* SPDX-License-Identifier: Apache-2.0 */
/*
 * menace replay: what would a policy have denied of runs that were?
 *
 * One row of classes[] is one kind of record, with what judges it.  A class is
 * "judged", "unknown" where the run has no records of it (which is never taken for
 * good), or "unlimited" where the policy says nothing about it.  What was recorded
 * with --record-access counts first: it is the program's alone, and says itself
 * whether it is complete.  Of records that are cut what is there is judged, and the
 * class is unknown all the same: how much there is to record, the program decides.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/base/units.h"
#include "runtime/spec/policy.h"
#include "runtime/store/query.h"
#include "tools/cmd.h"
#include "tools/term.h"

#define LIMIT_DEFAULT 50
#define POLICY_MAX (16 << 20)

struct replay {
	struct mr_cmd_common common;
	int64_t since_us, until_us, limit;
	bool all;
	struct mr_policy *policy;
	struct mr_store *store;
	bool denied;
	json_t *runs; /* with --json */
};

static const struct mr_cmd_row rows[] = {
	MR_CMD_ROW("since", 0, "TIME", INSTANT, replay, since_us,
		   "only runs from then on: a date, or a time ago as 2h"),
	MR_CMD_ROW("until", 0, "TIME", INSTANT, replay, until_us, "only runs before"),
	MR_CMD_ROW("limit", 'n', "N", COUNT, replay, limit,
		   "at most so many, the newest; 50 if not given"),
	MR_CMD_ROW("all", 'a', NULL, FLAG, replay, all, "all of them"),
	MR_CMD_COMMON_ROWS(replay),
};

/* One run. */
struct subject {
	const struct mr_policy *policy;
	struct mr_store *store;
	const char *run_id;
	json_t *access; /* or NULL */
	json_t *row; /* of run.get */
	json_t *knows; /* of replay.knows */
};

/* What is known of one class. */
struct verdict {
	const char *state, *why; /* why: static, or NULL */
	json_t *denied; /* texts */
};

static json_t *bind_run(const struct subject *s)
{
	return json_pack("{s:s}", "run_id", s->run_id);
}

static void deny(struct verdict *v, const char *text)
{
	json_array_append_new(v->denied, mr_str_utf8_valid(text, strlen(text))
						 ? json_string(text)
						 : json_string("(not UTF-8)"));
}

static void is_unknown(struct verdict *v, const char *why)
{
	v->state = "unknown";
	v->why = why;
}

/* --- system calls ------------------------------------------------------------------- */

/* Made by the sandbox itself before the program runs; whoever counts for the whole control group
 * counts them too. */
static bool is_of_the_setup(const char *name)
{
	static const char *const own[] = { "arch_prctl",
					   "brk",
					   "capset",
					   "chdir",
					   "clone3",
					   "close",
					   "close_range",
					   "dup2",
					   "execve",
					   "exit_group",
					   "faccessat2",
					   "fchdir",
					   "fchmod",
					   "fchown",
					   "fcntl",
					   "fsconfig",
					   "fsmount",
					   "fsopen",
					   "getdents64",
					   "getrandom",
					   "getrusage",
					   "ioctl",
					   "kill",
					   "landlock_add_rule",
					   "landlock_create_ruleset",
					   "landlock_restrict_self",
					   "mkdirat",
					   "mknodat",
					   "mmap",
					   "mount",
					   "mount_setattr",
					   "move_mount",
					   "mprotect",
					   "munmap",
					   "newfstatat",
					   "open_tree",
					   "openat",
					   "openat2",
					   "pivot_root",
					   "poll",
					   "prctl",
					   "prlimit64",
					   "read",
					   "readlink",
					   "readlinkat",
					   "recvmsg",
					   "rseq",
					   "rt_sigaction",
					   "rt_sigprocmask",
					   "seccomp",
					   "sendfile",
					   "sendmsg",
					   "set_robust_list",
					   "set_tid_address",
					   "setgroups",
					   "sethostname",
					   "setresgid",
					   "setresuid",
					   "setsid",
					   "signalfd4",
					   "socket",
					   "symlinkat",
					   "umask",
					   "umount2",
					   "unlinkat",
					   "unshare",
					   "vfork",
					   "wait4",
					   "write" };

	for (size_t i = 0; i < N_ELEMENTS(own); i++)
		if (strcmp(own[i], name) == 0)
			return true;
	return false;
}

static void judge_call(const struct subject *s, const char *name, struct verdict *v)
{
	int nr = name ? mr_policy_call_number(name) : -1;

	if (nr >= 0 && !mr_policy_allows_call(s->policy, (unsigned int)nr))
		deny(v, name);
}

static int judge_syscalls(const struct subject *s, struct verdict *v, struct mr_error *err)
{
	mr_auto_json json_t *list = NULL;
	json_t *name;
	size_t i;
	int r;

	json_array_foreach (json_object_get(s->access, "syscalls"), i, name)
		judge_call(s, json_string_value(name), v);
	if (s->access)
		return 0;
	r = mr_query_all(s->store, "replay.syscalls", bind_run(s), &list, err);
	if (r < 0)
		return r;
	if (json_array_size(list) == 0)
		is_unknown(v, "no system calls were recorded (--record-access)");
	else
		v->why = "calls that the sandbox makes itself are left out";
	json_array_foreach (list, i, name) {
		const char *text = json_string_value(json_object_get(name, "name"));

		if (text && !is_of_the_setup(text))
			judge_call(s, text, v);
	}
	return 0;
}

/* --- paths and programs --------------------------------------------------------------- */

static const char *get_path(const json_t *value, char **ret_decoded)
{
	struct mr_json json = mr_json_root((json_t *)(uintptr_t)value, "record");
	struct mr_error err;

	*ret_decoded = NULL;
	return mr_policy_get_path(&json, ret_decoded, &err) == 0 ? *ret_decoded : NULL;
}

static bool is_program(const struct subject *s, const json_t *path)
{
	json_t *one;
	size_t i;

	json_array_foreach (json_object_get(s->access, "program"), i, one)
		if (json_equal(one, path))
			return true;
	return false;
}

static void judge_path(const struct subject *s, const char *path, unsigned int access,
		       struct verdict *v)
{
	unsigned int has = mr_policy_lookup(s->policy->paths, s->policy->n_paths, path);
	mr_auto_free char *text = NULL;
	char words[MR_POLICY_ACCESS_SIZE];

	if (has & MR_POLICY_EXECUTE)
		has |= MR_POLICY_READ;
	if (!(access & ~has))
		return;
	text = mr_str_format("%s %s", mr_policy_access_text(access & ~has, words), path);
	deny(v, text);
}

/* Does the record hold all paths and hosts?  The program decides how many it uses. */
static void judge_whole(const struct subject *s, struct verdict *v)
{
	if (!json_is_true(json_object_get(s->access, "complete")))
		is_unknown(v, "not all paths and hosts were recorded; what is left was judged");
}

/* Both classes come from one list: programs are what is executed. */
static void judge_recorded(const struct subject *s, unsigned int which, struct verdict *v)
{
	json_t *row, *word;
	size_t i, k;

	judge_whole(s, v);
	json_array_foreach (json_object_get(s->access, "paths"), i, row) {
		mr_auto_free char *path = NULL;
		unsigned int access = 0;

		if (!get_path(json_object_get(row, "path"), &path)) {
			is_unknown(v, "a path that was recorded cannot be read");
			continue;
		}
		json_array_foreach (json_object_get(row, "access"), k, word)
			access |= mr_policy_access_find(json_string_value(word));
		if (is_program(s, json_object_get(row, "path")))
			access &= ~(unsigned int)MR_POLICY_EXECUTE;
		judge_path(s, path, access & which, v);
	}
}

static int judge_paths(const struct subject *s, struct verdict *v, struct mr_error *err)
{
	(void)err;
	if (s->access)
		judge_recorded(s, ~(unsigned int)MR_POLICY_EXECUTE, v);
	else
		is_unknown(v, "no paths were recorded (--record-access)");
	return 0;
}

static bool is_attached(const struct subject *s, const char *probe)
{
	const char *state = json_string_value(json_object_get(s->knows, probe));

	return state && strcmp(state, "attached") == 0;
}

/* Are all events of the run in the list?  One that was seen may have had no room there. */
static void judge_events(const struct subject *s, struct verdict *v)
{
	if (json_integer_value(json_object_get(s->row, "complete")) != 1)
		is_unknown(v, "events were lost; what is left was judged");
	else if (json_integer_value(json_object_get(s->knows, "events_not_listed")) != 0)
		is_unknown(v, "there were more events than are listed; what is left was judged");
}

static int judge_execs(const struct subject *s, struct verdict *v, struct mr_error *err)
{
	mr_auto_json json_t *list = NULL;
	json_t *row;
	size_t i;
	int r;

	if (s->access) {
		judge_recorded(s, MR_POLICY_EXECUTE, v);
		return 0;
	}
	if (!is_attached(s, "exec")) {
		is_unknown(v, "no programs were recorded (telemetry)");
		return 0;
	}
	r = mr_query_all(s->store, "replay.execs", bind_run(s), &list, err);
	if (r < 0)
		return r;
	judge_events(s, v);
	json_array_foreach (list, i, row) {
		const char *path = json_string_value(json_object_get(row, "object"));

		if (i == 0)
			continue; /* the program itself, which may always run */
		if (path && path[0] == '/')
			judge_path(s, path, MR_POLICY_EXECUTE, v);
		else
			is_unknown(v, "of a program no whole path was recorded");
	}
	return 0;
}

/* --- hosts ------------------------------------------------------------------------------ */

static void judge_host(const struct subject *s, const char *host, unsigned int port,
		       enum mr_policy_protocol protocol, struct verdict *v)
{
	mr_auto_free char *text = NULL;

	if (mr_policy_allows_host(s->policy, host, port, protocol))
		return;
	text = mr_str_format(strchr(host, ':') ? "%s [%s]:%u" : "%s %s:%u",
			     mr_policy_protocol_name(protocol), host, port);
	deny(v, text);
}

static enum mr_policy_protocol protocol_of(const json_t *row)
{
	const json_int_t number = json_integer_value(json_object_get(row, "protocol"));
	const json_int_t kind = json_integer_value(json_object_get(row, "kind"));

	if (number == 6 || (number == 0 && kind == 1))
		return MR_POLICY_TCP;
	return number == 17 || (number == 0 && kind == 2) ? MR_POLICY_UDP : MR_POLICY_ANY_PROTOCOL;
}

/* "127.0.0.1:80", "[::1]:80"; what is not written so is not known, rather than allowed. */
static void judge_event(const struct subject *s, const json_t *row, struct verdict *v)
{
	const char *object = json_string_value(json_object_get(row, "object"));
	mr_auto_free char *text = mr_str_dup(object ? object : "");
	char *colon = strrchr(text, ':'), *host = text;
	uint64_t port;

	if (!colon || mr_units_parse_count(colon + 1, &port, NULL) < 0 || port > UINT16_MAX) {
		is_unknown(v, "an address that was recorded cannot be read");
		return;
	}
	*colon = '\0';
	if (host[0] == '[') {
		host++;
		host[strcspn(host, "]")] = '\0';
	}
	judge_host(s, host, (unsigned int)port, protocol_of(row), v);
}

static void judge_recorded_hosts(const struct subject *s, struct verdict *v)
{
	json_t *row;
	size_t i;

	judge_whole(s, v);
	json_array_foreach (json_object_get(s->access, "hosts"), i, row) {
		const char *word = json_string_value(json_object_get(row, "protocol"));
		const char *host = json_string_value(json_object_get(row, "host"));

		if (!host || !word)
			is_unknown(v, "an address that was recorded cannot be read");
		else
			judge_host(s, host,
				   (unsigned int)json_integer_value(json_object_get(row, "port")),
				   strcmp(word, "tcp") == 0   ? MR_POLICY_TCP
				   : strcmp(word, "udp") == 0 ? MR_POLICY_UDP
							      : MR_POLICY_ANY_PROTOCOL,
				   v);
	}
}

static int judge_hosts(const struct subject *s, struct verdict *v, struct mr_error *err)
{
	const char *net = json_string_value(json_object_get(s->knows, "net"));
	mr_auto_json json_t *list = NULL;
	json_t *row;
	size_t i;
	int r;

	if (s->access) {
		judge_recorded_hosts(s, v);
		return 0;
	}
	if (net && strcmp(net, "none") == 0)
		return 0; /* nothing was reached */
	if (!is_attached(s, "connect")) {
		is_unknown(v, "no connections were recorded (telemetry)");
		return 0;
	}
	judge_events(s, v);
	r = mr_query_all(s->store, "replay.connects", bind_run(s), &list, err);
	json_array_foreach (list, i, row)
		judge_event(s, row, v);
	return r;
}

/* --- limits ------------------------------------------------------------------------------ */

/* Where the usage of the i-th limit of a policy stands. */
static const struct usage {
	const char *column; /* of the run, or NULL: of what was recorded with --record-access */
	const char *recorded;
	uint64_t divisor; /* to the unit of the knob */
	int64_t own; /* of it the sandbox's */
} usages[MR_POLICY_LIMITS] = {
	{ "memory_peak_bytes", NULL, 1, 0 }, { "cpu_us", NULL, 1000, 0 },
	{ "wall_us", NULL, 1000, 0 },	     { "pids_peak", NULL, 1, 1 },
	{ "disk_used_bytes", NULL, 1, 0 },   { NULL, "nofile", 1, 0 },
};

static int judge_limits(const struct subject *s, struct verdict *v, struct mr_error *err)
{
	const json_t *peak = json_object_get(s->access, "peak");

	(void)err;
	for (size_t i = 0; i < MR_POLICY_LIMITS; i++) {
		const struct mr_policy_limit *limit = &s->policy->limits[i];
		const struct mr_field *field = &mr_spec_fields()[mr_policy_limit_field(i)];
		const json_t *value = usages[i].column ? json_object_get(s->row, usages[i].column)
						       : json_object_get(peak, usages[i].recorded);
		mr_auto_free char *text = NULL;
		uint64_t used;

		if (!limit->given)
			continue;
		if (!json_is_integer(value) || json_integer_value(value) < usages[i].own) {
			is_unknown(v,
				   "of some limits no usage is recorded; the others were judged");
			continue;
		}
		used = (uint64_t)(json_integer_value(value) - usages[i].own) / usages[i].divisor;
		if (used <= limit->value)
			continue;
		text = mr_str_format("%s: %ju used, %ju allowed", field->key, (uintmax_t)used,
				     (uintmax_t)limit->value);
		deny(v, text);
	}
	return 0;
}

/* --- a run --------------------------------------------------------------------------------- */

static bool has_syscalls(const struct mr_policy *policy)
{
	return policy->has_syscalls;
}

static bool has_paths(const struct mr_policy *policy)
{
	return policy->has_paths;
}

static bool has_hosts(const struct mr_policy *policy)
{
	return policy->has_hosts;
}

static bool has_limits(const struct mr_policy *policy)
{
	for (size_t i = 0; i < MR_POLICY_LIMITS; i++)
		if (policy->limits[i].given)
			return true;
	return false;
}

static const struct class
{
	const char *name;
	bool (*wanted)(const struct mr_policy *policy);
	int (*judge)(const struct subject *s, struct verdict *v, struct mr_error *err);
} classes[] = {
	{ "syscalls", has_syscalls, judge_syscalls }, { "execs", has_paths, judge_execs },
	{ "paths", has_paths, judge_paths },	      { "hosts", has_hosts, judge_hosts },
	{ "limits", has_limits, judge_limits },
};

static int load_access(struct subject *s, struct mr_error *err)
{
	mr_auto_json json_t *row = NULL;
	const char *text;
	int r = mr_query_one(s->store, "replay.access", bind_run(s), &row, err);

	if (r != 0)
		return r < 0 ? r : 0;
	text = json_string_value(json_object_get(row, "access"));
	return text ? mr_json_parse(text, strlen(text), "record", &s->access, err) : 0;
}

static int load(struct subject *s, struct mr_error *err)
{
	int r = load_access(s, err);

	if (r == 0)
		r = mr_query_one(s->store, "run.get", bind_run(s), &s->row, err);
	if (r >= 0)
		r = mr_query_one(s->store, "replay.knows", bind_run(s), &s->knows, err);
	return r < 0 ? r : 0;
}

static void print_verdict(const char *run_id, const char *class, const struct verdict *v)
{
	json_t *text;
	size_t i;

	json_array_foreach (v->denied, i, text) {
		printf("%s  ", run_id);
		mr_term_cell(MR_TERM_RED, "denied", 9);
		mr_term_cell(MR_TERM_PLAIN, class, 9);
		mr_term_put(MR_TERM_PLAIN, json_string_value(text));
		putchar('\n');
	}
	if (strcmp(v->state, "judged") != 0 || json_array_size(v->denied) == 0) {
		printf("%s  ", run_id);
		mr_term_cell(MR_TERM_DIM, strcmp(v->state, "judged") == 0 ? "none" : v->state, 9);
		mr_term_cell(MR_TERM_PLAIN, class, 9);
		mr_term_put(MR_TERM_DIM, v->why ? v->why : "");
		putchar('\n');
	}
}

static int judge_run(struct replay *replay, const char *run_id, struct mr_error *err)
{
	struct subject s = { .policy = replay->policy, .store = replay->store, .run_id = run_id };
	json_t *result = json_object();
	int r = load(&s, err);

	for (size_t i = 0; r == 0 && i < N_ELEMENTS(classes); i++) {
		struct verdict v = { .state = "judged", .denied = json_array() };

		if (classes[i].wanted(replay->policy))
			r = classes[i].judge(&s, &v, err);
		else
			v.state = "unlimited";
		replay->denied |= json_array_size(v.denied) > 0;
		if (r == 0 && !replay->common.json)
			print_verdict(run_id, classes[i].name, &v);
		json_object_set_new(result, classes[i].name,
				    json_pack("{s:s, s:s?, s:o}", "state", v.state, "why", v.why,
					      "denied", v.denied));
	}
	json_array_append_new(replay->runs,
			      json_pack("{s:s, s:O?, s:o}", "run_id", run_id, "program",
					json_object_get(s.row, "program"), "classes", result));
	json_decref(s.access);
	json_decref(s.row);
	json_decref(s.knows);
	return r;
}

static int judge_listed(struct replay *replay, struct mr_error *err)
{
	const int64_t limit = replay->limit == MR_CMD_NOT_GIVEN ? LIMIT_DEFAULT : replay->limit;
	mr_auto_json json_t *list = NULL;
	json_t *row;
	size_t i;
	int r = mr_query_all(replay->store, "run.list",
			     json_pack("{s:n, s:n, s:n, s:o, s:o, s:o}", "reason", "program",
				       "sort", "since_us", mr_cmd_instant(replay->since_us),
				       "until_us", mr_cmd_instant(replay->until_us), "limit",
				       replay->all ? json_null() : json_integer(limit)),
			     &list, err);

	json_array_foreach (list, i, row) {
		if (r == 0)
			r = judge_run(replay, json_string_value(json_object_get(row, "run_id")),
				      err);
	}
	return r;
}

static int judge_named(struct replay *replay, char **words, struct mr_error *err)
{
	int r = 0;

	if (replay->since_us != MR_CMD_NOT_GIVEN || replay->until_us != MR_CMD_NOT_GIVEN)
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "--since and --until choose among all runs; accepted: these, or "
			      "names "
			      "of runs");
	for (; r == 0 && *words; words++) {
		mr_auto_free char *run_id = NULL;

		r = mr_cmd_find_run(replay->store, *words, &run_id, err);
		if (r == 0)
			r = judge_run(replay, run_id, err);
	}
	return r;
}

static int load_policy(struct replay *replay, const char *path, struct mr_error *err)
{
	mr_auto_free char *text = NULL;
	size_t size = 0;
	int r = mr_read_whole_file(path, POLICY_MAX, &text, &size, err);

	return r < 0 ? r : mr_policy_parse(text, size, path, &replay->policy, err);
}

static int run(void *values, char **words, struct mr_error *err)
{
	struct replay *replay = values;
	mr_auto_json json_t *document = NULL;
	int r = load_policy(replay, words[0], err);

	replay->runs = json_array();
	if (r == 0)
		r = mr_cmd_open(&replay->common, MR_STORE_READ, &replay->store, err);
	if (r == 0)
		r = words[1] ? judge_named(replay, words + 1, err) : judge_listed(replay, err);
	if (r == 0 && replay->common.json) {
		document = json_pack("{s:s, s:b, s:O}", "policy_sha256", replay->policy->sha256,
				     "denied", replay->denied, "runs", replay->runs);
		mr_cmd_print_json(document);
	} else if (r == 0) {
		printf("%s\n", replay->denied ? "the policy would have denied something"
					      : "the policy would have denied nothing of what is "
						"known");
	}
	json_decref(replay->runs);
	replay->store = mr_store_close(replay->store);
	replay->policy = mr_policy_unref(replay->policy);
	return r < 0 ? r : replay->denied;
}

const struct mr_cmd mr_cmd_replay = {
	.name = "replay",
	.synopsis = "POLICY [RUN...]",
	.summary = "Tell what a policy would have denied of past runs; exit 1 if it would anything",
	.options = MR_OPTABLE(rows),
	.size = sizeof(struct replay),
	.min_words = 1,
	.max_words = SIZE_MAX,
	.run = run,
};
