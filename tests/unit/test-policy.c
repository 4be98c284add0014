/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policy: the document, what it grants, and that it never adds to a request
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/spec/policy.h"

#define DOC(members) "{\"schema\": \"menace.policy/1\"" members "}"

static struct mr_policy *parse_ok(const char *text)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_policy *policy = NULL;

	if (mr_policy_parse(text, strlen(text), "p", &policy, &err) < 0)
		fail_msg("%s: %s", text, err.msg);
	return policy;
}

static char *print(const struct mr_policy *policy)
{
	mr_auto_json json_t *json = mr_policy_to_json(policy);

	return json_dumps(json, JSON_SORT_KEYS | JSON_COMPACT);
}

static const struct {
	const char *text, *message;
} refusals[] = {
	{ "[]", "p: a list where an object is expected" },
	{ "{}", "p: \"schema\" is missing; accepted: \"menace.policy/1\"" },
	{ "{\"schema\": \"menace.policy/2\"}",
	  "p: schema: unknown schema \"menace.policy/2\"; accepted: \"menace.policy/1\"" },
	{ DOC(", \"syscals\": []"), "p: unknown key \"syscals\"; did you mean \"syscalls\"?" },
	{ DOC(", \"name\": \"\""), "p: name: a name of 0 bytes; accepted: 1 to 256" },
	{ DOC(", \"syscalls\": {}"), "p: syscalls: an object where a list is expected" },
	{ DOC(", \"syscalls\": [\"read\", \"opne\"]"),
	  "p: syscalls[1]: unknown system call \"opne\"; did you mean \"open\"?" },
	{ DOC(", \"syscalls\": [\"@fil\"]"),
	  "p: syscalls[0]: unknown set of system calls \"@fil\"; did you mean \"@file\"?" },
	{ DOC(", \"syscalls\": [\"xyzzyxyzzy\"]"),
	  "p: syscalls[0]: unknown system call \"xyzzyxyzzy\"; accepted: the name of a system "
	  "call, "
	  "or @ and that of a set of them" },
	{ DOC(", \"syscalls\": [3]"), "p: syscalls[0]: a number where a string is expected" },
	{ DOC(", \"paths\": [\"/etc\"]"), "p: paths[0]: a string where an object is expected" },
	{ DOC(", \"paths\": [{\"path\": \"/etc\"}]"), "p: paths[0]: \"access\" is missing" },
	{ DOC(", \"paths\": [{\"access\": [\"read\"]}]"), "p: paths[0]: \"path\" is missing" },
	{ DOC(", \"paths\": [{\"path\": \"/etc\", \"acces\": [\"read\"]}]"),
	  "p: paths[0]: unknown key \"acces\"; did you mean \"access\"?" },
	{ DOC(", \"paths\": [{\"path\": \"etc\", \"access\": [\"read\"]}]"),
	  "p: paths[0].path: accepted: an absolute path inside the sandbox, with a slash at its "
	  "end "
	  "for a folder and all below it" },
	{ DOC(", \"paths\": [{\"path\": \"\", \"access\": [\"read\"]}]"),
	  "p: paths[0].path: accepted: an absolute path inside the sandbox, with a slash at its "
	  "end "
	  "for a folder and all below it" },
	{ DOC(", \"paths\": [{\"path\": \"/a/../b\", \"access\": [\"read\"]}]"),
	  "p: paths[0].path: \".\", \"..\" and empty names are not accepted in a path" },
	{ DOC(", \"paths\": [{\"path\": \"/a/..\", \"access\": [\"read\"]}]"),
	  "p: paths[0].path: \".\", \"..\" and empty names are not accepted in a path" },
	{ DOC(", \"paths\": [{\"path\": \"/a//b\", \"access\": [\"read\"]}]"),
	  "p: paths[0].path: \".\", \"..\" and empty names are not accepted in a path" },
	{ DOC(", \"paths\": [{\"path\": \"//\", \"access\": [\"read\"]}]"),
	  "p: paths[0].path: \".\", \"..\" and empty names are not accepted in a path" },
	{ DOC(", \"paths\": [{\"path\": \"/./\", \"access\": [\"read\"]}]"),
	  "p: paths[0].path: \".\", \"..\" and empty names are not accepted in a path" },
	{ DOC(", \"paths\": [{\"path\": \"/a\\u0000b\", \"access\": [\"read\"]}]"),
	  "p: paths[0].path: holds a NUL byte" },
	{ DOC(", \"paths\": [{\"path\": \"/proc/self/maps\", \"access\": [\"read\"]}]"),
	  "p: paths[0].path: the entries of processes cannot be told apart; accepted: /proc/ for "
	  "all "
	  "of them" },
	{ DOC(", \"paths\": [{\"path\": \"/proc/1/maps\", \"access\": [\"read\"]}]"),
	  "p: paths[0].path: the entries of processes cannot be told apart; accepted: /proc/ for "
	  "all "
	  "of them" },
	{ DOC(", \"paths\": [{\"path\": \"/a\", \"access\": []}]"),
	  "p: paths[0].access: the list is empty; accepted: read, write, execute, make, list" },
	{ DOC(", \"paths\": [{\"path\": \"/a\", \"access\": [\"raed\"]}]"),
	  "p: paths[0].access[0]: unknown access \"raed\"; accepted: read, write, execute, make, "
	  "list" },
	{ DOC(", \"paths\": [{\"path\": \"/a\", \"access\": [\"list\"]}]"),
	  "p: paths[0].access[0]: \"list\" is for folders, whose path ends in a slash; accepted "
	  "for "
	  "this path: read, write, execute" },
	{ DOC(", \"hosts\": [{\"port\": 1}]"), "p: hosts[0]: \"host\" is missing" },
	{ DOC(", \"hosts\": [{\"host\": \"example.org\"}]"),
	  "p: hosts[0].host: \"example.org\"; accepted: an IPv4 or IPv6 address, \"loopback\" or "
	  "\"any\" (names are not looked up)" },
	{ DOC(", \"hosts\": [{\"host\": \"any\", \"port\": 0}]"),
	  "p: hosts[0].port: 0 is out of range; accepted: 1 to 65535" },
	{ DOC(", \"hosts\": [{\"host\": \"any\", \"port\": 65536}]"),
	  "p: hosts[0].port: 65536 is out of range; accepted: 1 to 65535" },
	{ DOC(", \"hosts\": [{\"host\": \"any\", \"port\": \"80\"}]"),
	  "p: hosts[0].port: a string; accepted: 1 to 65535, or \"any\"" },
	{ DOC(", \"hosts\": [{\"host\": \"any\", \"protocol\": \"sctp\"}]"),
	  "p: hosts[0].protocol: unknown protocol \"sctp\"; accepted: tcp, udp, any" },
	{ DOC(", \"limits\": {\"memory\": 1}"),
	  "p: limits: unknown key \"memory\"; did you mean \"memory_max_bytes\"?" },
	{ DOC(", \"limits\": {\"nofiles\": 64}"),
	  "p: limits: unknown key \"nofiles\"; did you mean \"nofile\"?" },
	{ DOC(", \"limits\": {\"nofile\": 2}"),
	  "p: limits.nofile: \"2\" is out of range; accepted: 3 to 1048576" },
	{ DOC(", \"limits\": {\"nofile\": {\"peak\": 8}}"),
	  "p: limits.nofile: \"margin_percent\" is missing" },
	{ DOC(", \"limits\": {\"nofile\": {\"peak\": 8, \"margin_percent\": 100001}}"),
	  "p: limits.nofile.margin_percent: 100001 is out of range; accepted: 0 to 100000" },
	{ DOC(", \"limits\": {\"pids_max\": {\"peak\": \"unlimited\", \"margin_percent\": 1}}"),
	  "p: limits.pids_max.peak: a peak is a number; accepted: an amount" },
};

static void what_is_wrong_is_named(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(refusals); i++) {
		struct mr_error err = MR_ERROR_INIT;
		struct mr_policy *policy = NULL;
		const char *text = refusals[i].text;

		assert_int_equal(mr_policy_parse(text, strlen(text), "p", &policy, &err), -EINVAL);
		assert_int_equal(err.code, MR_E_USAGE);
		assert_string_equal(err.msg, refusals[i].message);
		assert_null(policy);
	}
}

static void a_path_may_be_as_long_as_the_kernel_takes(void **state)
{
	char text[5000], path[4200];
	struct mr_error err = MR_ERROR_INIT;
	struct mr_policy *policy = NULL;

	(void)state;
	for (size_t n = 4095; n <= 4096; n++) {
		memset(path, 'a', n);
		path[0] = '/';
		path[n] = '\0';
		snprintf(text, sizeof(text),
			 DOC(", \"paths\": [{\"path\": \"%s\", \"access\": [\"read\"]}]"), path);
		if (n == 4095) {
			policy = parse_ok(text);
			policy = mr_policy_unref(policy);
		} else {
			assert_int_equal(mr_policy_parse(text, strlen(text), "p", &policy, &err),
					 -EINVAL);
			assert_string_equal(err.msg, "p: paths[0].path: 4096 bytes are too long; "
						     "accepted: at most 4095");
		}
	}
}

static void equal_policies_have_one_text(void **state)
{
	mr_auto_policy struct mr_policy *a = parse_ok(
		DOC(", \"syscalls\": [\"write\", \"read\", \"read\"], \"paths\": ["
		    "{\"path\": \"/b\", \"access\": [\"read\"]}, {\"path\": \"/a/\", \"access\": "
		    "[\"list\"]},"
		    "{\"path\": \"/b\", \"access\": [\"write\", \"write\"]}],"
		    "\"hosts\": [{\"host\": \"::0001\", \"port\": 80}, {\"host\": \"any\"},"
		    " {\"host\": \"::1\", \"port\": 80, \"protocol\": \"any\"}],"
		    "\"limits\": {\"wall_ms\": \"2s\", \"memory_max_bytes\": {\"peak\": \"4Mi\","
		    " \"margin_percent\": 50}}"));
	mr_auto_free char *text = print(a);
	mr_auto_policy struct mr_policy *b = parse_ok(text);
	mr_auto_free char *again = print(b);

	(void)state;
	assert_string_equal(text,
			    "{\"hosts\":[{\"host\":\"::1\",\"port\":80,\"protocol\":\"any\"},"
			    "{\"host\":\"any\",\"port\":\"any\",\"protocol\":\"any\"}],"
			    "\"limits\":{\"memory_max_bytes\":{\"margin_percent\":50,\"peak\":"
			    "4194304},"
			    "\"wall_ms\":2000},"
			    "\"paths\":[{\"access\":[\"list\"],\"path\":\"/a/\"},"
			    "{\"access\":[\"read\",\"write\"],\"path\":\"/b\"}],"
			    "\"schema\":\"menace.policy/1\",\"syscalls\":[\"read\",\"write\"]}");
	assert_string_equal(text, again);
	assert_string_equal(a->sha256, b->sha256);
	assert_int_equal(a->limits[0].value, 6291456);
}

static void a_path_of_any_bytes_is_kept(void **state)
{
	mr_auto_policy struct mr_policy *policy =
		parse_ok(DOC(", \"paths\": [{\"path\": {\"base64\": \"L/8K\"}, \"access\": "
			     "[\"read\"]}, {\"path\": \"/a\\nb\", \"access\": [\"read\"]}]"));
	mr_auto_free char *text = print(policy);

	(void)state;
	assert_int_equal(policy->n_paths, 2);
	assert_string_equal(policy->paths[0].path, "/a\nb");
	assert_string_equal(policy->paths[1].path, "/\xff\n");
	assert_non_null(strstr(text, "{\"base64\":\"L/8K\"}"));
}

static void a_set_is_its_calls(void **state)
{
	mr_auto_policy struct mr_policy *policy = parse_ok(DOC(", \"syscalls\": [\"@perf\"]"));

	(void)state;
	assert_true(mr_policy_allows_call(policy,
					  (unsigned int)mr_policy_call_number("perf_event_open")));
	assert_false(mr_policy_allows_call(policy, (unsigned int)mr_policy_call_number("read")));
}

static void nothing_allowed_is_the_floor(void **state)
{
	mr_auto_policy struct mr_policy *policy = parse_ok(DOC(", \"syscalls\": []"));
	unsigned int n = 0;

	(void)state;
	for (unsigned int nr = 0; nr < 1024; nr++)
		n += mr_policy_allows_call(policy, nr);
	assert_int_equal(n, 4);
	assert_true(mr_policy_allows_call(policy, 60)); /* exit */
	assert_true(mr_policy_allows_call(policy, 231)); /* exit_group */
	assert_true(mr_policy_allows_call(policy, 15)); /* rt_sigreturn */
	assert_true(mr_policy_allows_call(policy, 219)); /* restart_syscall */
}

static void folders_grant_to_what_is_below(void **state)
{
	mr_auto_policy struct mr_policy *p = parse_ok(DOC(
		", \"paths\": [{\"path\": \"/\", \"access\": [\"list\"]},"
		"{\"path\": \"/a/b/\", \"access\": [\"read\"]}, {\"path\": \"/a/b\", \"access\": "
		"[\"write\"]}, {\"path\": \"/a/bc\", \"access\": [\"execute\"]}]"));

	(void)state;
#define HAS(path) mr_policy_lookup(p->paths, p->n_paths, path)
	assert_int_equal(HAS("/"), MR_POLICY_LIST);
	assert_int_equal(HAS("/a/b/"), MR_POLICY_LIST | MR_POLICY_READ);
	assert_int_equal(HAS("/a/b/c"), MR_POLICY_LIST | MR_POLICY_READ);
	assert_int_equal(HAS("/a/b/c/d/"), MR_POLICY_LIST | MR_POLICY_READ);
	assert_int_equal(HAS("/a/b"), MR_POLICY_LIST | MR_POLICY_WRITE);
	assert_int_equal(HAS("/a/bc"), MR_POLICY_LIST | MR_POLICY_EXECUTE);
	assert_int_equal(HAS("/a/bcd"), MR_POLICY_LIST);
	assert_int_equal(HAS("/a/"), MR_POLICY_LIST);
#undef HAS
}

static void limits_are_the_smaller_of_both(void **state)
{
	mr_auto_policy struct mr_policy *policy =
		parse_ok(DOC(", \"limits\": {\"wall_ms\": \"60s\", \"memory_max_bytes\": \"1Mi\","
			     "\"pids_max\": \"unlimited\", \"cpu_time_ms\": 5}"));
	struct mr_error err = MR_ERROR_INIT;
	struct mr_spec spec;

	(void)state;
	mr_spec_init(&spec);
	assert_int_equal(mr_spec_set_policy(&spec, policy, &err), 0);
	assert_int_equal(mr_policy_narrow(&spec, NULL, &err), 0);
	assert_int_equal(spec.limits_wall_ms, 30000);
	assert_int_equal(spec.limits_memory_max_bytes, 1048576);
	assert_int_equal(spec.limits_pids_max, 512);
	assert_int_equal(spec.limits_cpu_time_ms, 5);
	assert_int_equal(spec.origin[MR_FIELD_limits_wall_ms], MR_ORIGIN_DEFAULT);
	assert_int_equal(spec.origin[MR_FIELD_limits_cpu_time_ms], MR_ORIGIN_POLICY);
	assert_int_equal(mr_spec_set_policy(&spec, policy, &err), -EEXIST);
	assert_string_equal(err.msg, "there is a policy already; accepted: one, which may be "
				     "written to allow less");
	mr_spec_deinit(&spec);
}

/* A margin on the largest peak does not wrap around. */
static void a_margin_ends_at_the_largest_value(void **state)
{
	mr_auto_policy struct mr_policy *policy =
		parse_ok(DOC(", \"limits\": {\"nofile\": {\"peak\": 1048576, "
			     "\"margin_percent\": 100000}}"));

	(void)state;
	assert_int_equal(policy->limits[5].value, 1048576);
}

static const struct {
	const char *hosts;
	uint64_t asked;
	int r; /* 0: enforced */
	uint64_t applied;
} networks[] = {
	{ "[]", MR_NET_HOST, 0, MR_NET_NONE },
	{ "[]", MR_NET_NONE, 0, MR_NET_NONE },
	{ "[{\"host\": \"10.0.0.1\", \"port\": 80}]", MR_NET_NONE, 0, MR_NET_NONE },
	{ "[{\"host\": \"10.0.0.1\", \"port\": 80}]", MR_NET_HOST, -EOPNOTSUPP, MR_NET_HOST },
	{ "[{\"host\": \"loopback\"}]", MR_NET_LOOPBACK, 0, MR_NET_LOOPBACK },
	{ "[{\"host\": \"loopback\", \"port\": 80}]", MR_NET_LOOPBACK, -EOPNOTSUPP,
	  MR_NET_LOOPBACK },
	{ "[{\"host\": \"loopback\"}]", MR_NET_HOST, -EOPNOTSUPP, MR_NET_HOST },
	{ "[{\"host\": \"any\"}]", MR_NET_HOST, 0, MR_NET_HOST },
	{ "[{\"host\": \"any\", \"protocol\": \"tcp\"}]", MR_NET_HOST, -EOPNOTSUPP, MR_NET_HOST },
};

static void hosts_are_enforced_or_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(networks); i++) {
		mr_auto_free char *text =
			mr_str_format("{\"schema\": \"menace.policy/1\", \"hosts\": %s}",
				      networks[i].hosts);
		mr_auto_policy struct mr_policy *policy = parse_ok(text);
		struct mr_error err = MR_ERROR_INIT;
		const char *why = NULL;
		struct mr_spec spec;

		mr_spec_init(&spec);
		spec.net_mode = networks[i].asked;
		assert_int_equal(mr_spec_set_policy(&spec, policy, &err), 0);
		assert_int_equal(mr_policy_narrow(&spec, &why, &err), networks[i].r);
		assert_int_equal(spec.net_mode, networks[i].applied);
		assert_null(why);
		if (networks[i].r < 0) {
			assert_int_equal(err.code, MR_E_KERNEL);
			assert_int_equal(mr_spec_add_best_effort(&spec, "policy-hosts", &err), 0);
			assert_int_equal(mr_policy_narrow(&spec, &why, &err), 0);
			assert_non_null(why);
		}
		mr_spec_deinit(&spec);
	}
}

static void hosts_are_matched_exactly(void **state)
{
	mr_auto_policy struct mr_policy *p = parse_ok(
		DOC(", \"hosts\": [{\"host\": \"10.0.0.1\", \"port\": 80, \"protocol\": \"tcp\"},"
		    "{\"host\": \"loopback\", \"port\": 53}]"));

	(void)state;
	assert_true(mr_policy_allows_host(p, "10.0.0.1", 80, MR_POLICY_TCP));
	assert_false(mr_policy_allows_host(p, "10.0.0.1", 81, MR_POLICY_TCP));
	assert_false(mr_policy_allows_host(p, "10.0.0.1", 80, MR_POLICY_UDP));
	assert_false(mr_policy_allows_host(p, "10.0.0.11", 80, MR_POLICY_TCP));
	assert_true(mr_policy_allows_host(p, "127.3.2.1", 53, MR_POLICY_UDP));
	assert_true(mr_policy_allows_host(p, "::1", 53, MR_POLICY_TCP));
	assert_false(mr_policy_allows_host(p, "::1", 54, MR_POLICY_TCP));
}

/* The document of a request has its policy in it, and is read back to the same. */
static void a_spec_keeps_its_policy(void **state)
{
	static const char text[] =
		"{\"schema\": \"menace.spec/1\", \"program\": [\"true\"], \"policy\": "
		"{\"schema\": \"menace.policy/1\", \"syscalls\": [\"read\"]}}";
	struct mr_error err = MR_ERROR_INIT;
	struct mr_spec spec, again;

	(void)state;
	mr_spec_init(&spec);
	mr_spec_init(&again);
	assert_int_equal(mr_spec_parse_json(&spec, text, strlen(text), "s", &err), 0);
	assert_non_null(spec.policy);
	mr_auto_free char *first = mr_spec_print_canonical(&spec);

	assert_int_equal(mr_spec_parse_json(&again, first, strlen(first), "s", &err), 0);
	mr_auto_free char *second = mr_spec_print_canonical(&again);

	assert_string_equal(first, second);
	assert_non_null(strstr(first, "\"syscalls\":[\"read\"]"));
	mr_spec_deinit(&spec);
	mr_spec_deinit(&again);
}

static void a_wrong_policy_in_a_spec_is_named(void **state)
{
	static const char text[] =
		"{\"schema\": \"menace.spec/1\", \"program\": [\"true\"], \"policy\": "
		"{\"schema\": \"menace.policy/1\", \"syscalls\": [\"raed\"]}}";
	struct mr_error err = MR_ERROR_INIT;
	struct mr_spec spec;

	(void)state;
	mr_spec_init(&spec);
	assert_int_equal(mr_spec_parse_json(&spec, text, strlen(text), "s", &err), -EINVAL);
	assert_string_equal(err.msg, "s: policy.syscalls[0]: unknown system call \"raed\"; did you "
				     "mean \"read\"?");
	mr_spec_deinit(&spec);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_wrong_is_named),
		cmocka_unit_test(a_path_may_be_as_long_as_the_kernel_takes),
		cmocka_unit_test(equal_policies_have_one_text),
		cmocka_unit_test(a_path_of_any_bytes_is_kept),
		cmocka_unit_test(a_set_is_its_calls),
		cmocka_unit_test(nothing_allowed_is_the_floor),
		cmocka_unit_test(folders_grant_to_what_is_below),
		cmocka_unit_test(limits_are_the_smaller_of_both),
		cmocka_unit_test(a_margin_ends_at_the_largest_value),
		cmocka_unit_test(hosts_are_enforced_or_refused),
		cmocka_unit_test(hosts_are_matched_exactly),
		cmocka_unit_test(a_spec_keeps_its_policy),
		cmocka_unit_test(a_wrong_policy_in_a_spec_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
