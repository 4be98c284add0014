/* SPDX-License-Identifier: Apache-2.0 */
/* What is said to an engine and what it says, without one. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/backend/docker_create.h"
#include "runtime/backend/docker_image.h"
#include "runtime/backend/docker_reply.h"
#include "runtime/backend/docker_stream.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"

/* --- stream ---------------------------------------------------------------------------------- */

struct heard {
	char text[2][64];
	size_t n[2];
};

static void hear(void *owner, enum mr_docker_channel channel, const char *buf, size_t n)
{
	struct heard *heard = owner;
	const size_t i = channel == MR_DOCKER_STDERR;

	memcpy(heard->text[i] + heard->n[i], buf, n);
	heard->n[i] += n;
}

static const char frames[] = "\1\0\0\0\0\0\0\3abc"
			     "\2\0\0\0\0\0\0\0"
			     "\2\0\0\0\0\0\0\5EEEEE"
			     "\1\0\0\0\0\0\0\1d";

/* Cut at every place into pieces of every size. */
static void a_stream_may_be_cut_anywhere(void **state)
{
	const size_t size = sizeof(frames) - 1;

	(void)state;
	for (size_t piece = 1; piece <= size; piece++) {
		struct heard heard = { 0 };
		struct mr_docker_stream stream = { .on_bytes = hear, .owner = &heard };
		struct mr_error err = MR_ERROR_INIT;

		for (size_t at = 0; at < size; at += piece)
			assert_int_equal(mr_docker_stream_feed(&stream, frames + at,
							       size - at < piece ? size - at
										 : piece,
							       &err),
					 0);
		assert_true(mr_docker_stream_is_whole(&stream));
		assert_int_equal(heard.n[0], 4);
		assert_memory_equal(heard.text[0], "abcd", 4);
		assert_int_equal(heard.n[1], 5);
		assert_memory_equal(heard.text[1], "EEEEE", 5);
	}
}

static void half_a_frame_is_not_whole(void **state)
{
	(void)state;
	for (size_t n = 1; n < 11; n++) {
		struct heard heard = { 0 };
		struct mr_docker_stream stream = { .on_bytes = hear, .owner = &heard };
		struct mr_error err = MR_ERROR_INIT;

		assert_int_equal(mr_docker_stream_feed(&stream, frames, n, &err), 0);
		assert_false(mr_docker_stream_is_whole(&stream));
	}
}

static void the_largest_frame_costs_no_memory(void **state)
{
	static const char header[] = "\1\0\0\0\xff\xff\xff\xff";
	struct heard heard = { 0 };
	struct mr_docker_stream stream = { .on_bytes = hear, .owner = &heard };
	struct mr_error err = MR_ERROR_INIT;

	(void)state;
	assert_int_equal(mr_docker_stream_feed(&stream, header, 8, &err), 0);
	assert_int_equal(stream.left, UINT32_MAX);
	assert_int_equal(mr_docker_stream_feed(&stream, "xyz", 3, &err), 0);
	assert_int_equal(stream.left, UINT32_MAX - 3);
	assert_int_equal(heard.n[0], 3);
}

static void what_is_no_frame_is_refused(void **state)
{
	static const char *const bad[] = { "\4\0\0\0\0\0\0\1", "\1\1\0\0\0\0\0\1",
					   "\1\0\0\1\0\0\0\1", "HTTP/1.1" };

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(bad); i++) {
		struct heard heard = { 0 };
		struct mr_docker_stream stream = { .on_bytes = hear, .owner = &heard };
		struct mr_error err = MR_ERROR_INIT;

		assert_int_equal(mr_docker_stream_feed(&stream, bad[i], 8, &err), -EPROTO);
		assert_int_equal(err.code, MR_E_PROTO);
		assert_int_equal(heard.n[0] + heard.n[1], 0);
	}
}

/* --- replies --------------------------------------------------------------------------------- */

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static json_t *parse(const char *text)
{
	struct mr_error err = MR_ERROR_INIT;
	json_t *json = NULL;

	if (mr_docker_reply_parse(text, strlen(text), "test", &json, &err) < 0)
		fail_msg("%s", err.msg);
	return json;
}

static void made_has_an_id_and_warnings(void **state)
{
	mr_auto_json json_t *good = parse("{\"Id\":\"" ID "\",\"Warnings\":[\"no\\u0007 swap\","
					  "\"b\"]}");
	mr_auto_json json_t *null = parse("{\"Id\":\"" ID "\",\"Warnings\":null}");
	mr_auto_json json_t *path = parse("{\"Id\":\"../../../../etc/passwd\"}");
	struct mr_error err = MR_ERROR_INIT;
	char id[MR_DOCKER_ID_SIZE], warnings[100];

	(void)state;
	assert_int_equal(mr_docker_reply_created(good, id, warnings, 100, &err), 0);
	assert_string_equal(id, ID);
	assert_string_equal(warnings, "no? swap; b");
	assert_int_equal(mr_docker_reply_created(null, id, warnings, 100, &err), 0);
	assert_string_equal(warnings, "");
	assert_int_equal(mr_docker_reply_created(path, id, warnings, 100, &err), -EPROTO);
	assert_string_equal(err.msg, "the engine's answer has no Id of 64 hexadecimal digits");
}

static void an_engine_says_which_apis_it_has(void **state)
{
	static const char *const bad[] = { "{}",
					   "[]",
					   "{\"ApiVersion\":1.41}",
					   "{\"ApiVersion\":\"1.\"}",
					   "{\"ApiVersion\":\"2.0\"}",
					   "{\"ApiVersion\":\"1.41/../x\"}",
					   "{\"ApiVersion\":\"1.99999\"}",
					   "{\"ApiVersion\":\"1.41\",\"MinAPIVersion\":\"\"}" };
	mr_auto_json json_t *good = parse("{\"ApiVersion\":\"1.52\",\"MinAPIVersion\":\"1.44\"}");
	mr_auto_json json_t *one = parse("{\"ApiVersion\":\"1.41\"}");
	struct mr_docker_apis apis = { 0 };
	struct mr_error err = MR_ERROR_INIT;

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(bad); i++) {
		mr_auto_json json_t *json = parse(bad[i]);

		assert_int_equal(mr_docker_reply_apis(json, &apis, &err), -EPROTO);
		assert_int_equal(err.code, MR_E_PROTO);
	}
	assert_int_equal(mr_docker_reply_apis(good, &apis, &err), 0);
	assert_int_equal(apis.oldest, 44);
	assert_int_equal(apis.newest, 52);
	assert_int_equal(mr_docker_reply_apis(one, &apis, &err), 0);
	assert_int_equal(apis.oldest, 0);
	assert_int_equal(apis.newest, 41);
}

static void waited_has_a_status(void **state)
{
	static const char *const bad[] = { "{}",
					   "[]",
					   "{\"StatusCode\":256}",
					   "{\"StatusCode\":-1}",
					   "{\"StatusCode\":\"0\"}",
					   "{\"StatusCode\":1e3}" };
	mr_auto_json json_t *good = parse("{\"StatusCode\":255,\"Error\":null}");
	struct mr_error err = MR_ERROR_INIT;
	int status = -1;

	(void)state;
	assert_int_equal(mr_docker_reply_waited(good, &status, &err), 0);
	assert_int_equal(status, 255);
	for (size_t i = 0; i < N_ELEMENTS(bad); i++) {
		mr_auto_json json_t *json = parse(bad[i]);

		assert_int_equal(mr_docker_reply_waited(json, &status, &err), -EPROTO);
	}
	assert_int_equal(status, 255);
}

static void garbage_is_no_answer(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	char message[40];
	json_t *json = NULL;

	(void)state;
	assert_int_equal(mr_docker_reply_parse("\xff\x01{", 3, "wait", &json, &err), -EINVAL);
	assert_int_equal(err.code, MR_E_PROTO);
	assert_null(json);
	mr_docker_reply_message("{\"message\":\"no such\\nimage\"}", 28, message, sizeof(message));
	assert_string_equal(message, "no such?image");
	mr_docker_reply_message("<html>\xc2\x9b", 8, message, sizeof(message));
	assert_string_equal(message, "<html>??");
	mr_docker_reply_message(NULL, 0, message, sizeof(message));
	assert_string_equal(message, "");
}

static void statistics_are_what_there_is(void **state)
{
	mr_auto_json json_t *some = parse("{\"cpu_stats\":{\"cpu_usage\":{\"total_usage\":12}},"
					  "\"memory_stats\":{\"max_usage\":\"x\"},"
					  "\"pids_stats\":{\"current\":-1}}");
	struct mr_docker_stats stats;
	struct mr_error err = MR_ERROR_INIT;

	(void)state;
	assert_int_equal(mr_docker_reply_stats(some, &stats, &err), 0);
	assert_int_equal(stats.cpu_ns, 12);
	assert_int_equal(stats.memory_peak_bytes, UINT64_MAX);
	assert_int_equal(stats.pids, UINT64_MAX);
}

/* --- what is asked for ------------------------------------------------------------------------- */

static json_t *body_with(const char *const *assignments)
{
	static char *argv[] = { (char *)(uintptr_t) "a", NULL };
	struct mr_error err = MR_ERROR_INIT;
	struct mr_spec spec;
	const struct mr_docker_create create = { .spec = &spec,
						 .run_id = "run",
						 .lease = "lease",
						 .image = "sha256:1",
						 .argv = argv,
						 .envp = argv,
						 .uid = 1000,
						 .gid = 1001 };
	json_t *body;

	mr_spec_init(&spec);
	for (; *assignments; assignments++)
		if (mr_spec_set_assignment(&spec, *assignments, &err) < 0)
			fail_msg("%s", err.msg);
	body = mr_docker_create_body(&create);
	mr_spec_deinit(&spec);
	return body;
}

static void assert_member(const json_t *object, const char *name, const char *expected)
{
	const json_t *value = json_object_get(object, name);
	mr_auto_free char *text =
		value ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_SORT_KEYS) : NULL;

	if (!text || strcmp(text, expected) != 0)
		fail_msg("%s: %s instead of %s", name, text ? text : "nothing", expected);
}

static void limits_are_asked_for(void **state)
{
	static const char *const set[] = { "limits.memory_max_bytes=64Mi",
					   "limits.swap_max_bytes=1Mi",
					   "limits.cpus=1.5",
					   "limits.pids_max=7",
					   "limits.nofile=100",
					   "limits.disk_bytes=1Mi",
					   "limits.disk_inodes=unlimited",
					   NULL };
	mr_auto_json json_t *body = body_with(set);
	const json_t *host = json_object_get(body, "HostConfig");

	(void)state;
	assert_member(host, "Memory", "67108864");
	assert_member(host, "MemorySwap", "68157440");
	assert_member(host, "CpuQuota", "150000");
	assert_member(host, "CpuPeriod", "100000");
	assert_member(host, "PidsLimit", "8");
	assert_member(host, "ShmSize", "1048576");
	assert_member(host, "Ulimits",
		      "[{\"Hard\":100,\"Name\":\"nofile\",\"Soft\":100},{\"Hard\":-1,\"Name\":"
		      "\"fsize\",\"Soft\":-1},{\"Hard\":0,\"Name\":\"core\",\"Soft\":0},{\"Hard\":"
		      "8388608,\"Name\":\"stack\",\"Soft\":8388608}]");
	assert_member(host, "Tmpfs",
		      "{\"/tmp\":\"rw,exec,nosuid,nodev,mode=1777,uid=1000,gid=1001,"
		      "size=1048576\",\"/work\":\"rw,exec,nosuid,nodev,mode=0755,uid=1000,"
		      "gid=1001,size=1048576\"}");
	assert_member(body, "User", "\"1000:1001\"");
}

static void unlimited_is_not_zero(void **state)
{
	static const char *const set[] = { "limits.memory_max_bytes=unlimited",
					   "limits.pids_max=unlimited",
					   "limits.disk_bytes=unlimited", NULL };
	mr_auto_json json_t *body = body_with(set);
	const json_t *host = json_object_get(body, "HostConfig");

	(void)state;
	assert_null(json_object_get(host, "Memory"));
	assert_null(json_object_get(host, "MemorySwap"));
	assert_null(json_object_get(host, "CpuQuota"));
	assert_member(host, "PidsLimit", "-1");
	assert_member(host, "ShmSize", "67108864");
}

static void every_lock_is_on(void **state)
{
	static const char *const none[] = { NULL };
	mr_auto_json json_t *body = body_with(none);
	const json_t *host = json_object_get(body, "HostConfig");

	(void)state;
	assert_member(host, "NetworkMode", "\"none\"");
	assert_member(host, "ReadonlyRootfs", "true");
	assert_member(host, "Privileged", "false");
	assert_member(host, "CapDrop", "[\"ALL\"]");
	assert_string_equal(json_string_value(
				    json_array_get(json_object_get(host, "SecurityOpt"), 0)),
			    "no-new-privileges");
	assert_null(
		strstr(json_string_value(json_array_get(json_object_get(host, "SecurityOpt"), 1)),
		       "unconfined"));
	assert_null(json_object_get(host, "Binds"));
	assert_member(host, "Mounts", "[]"); /* no socket of an engine, nor anything else */
}

/* An engine that leaves something out is found out. */
static void what_is_shown_must_be_what_was_asked(void **state)
{
	static const char *const set[] = { "limits.cpus=1", NULL };
	static const char *const names[] = { "Memory",	    "MemorySwap",  "CpuQuota",
					     "PidsLimit",   "NetworkMode", "ReadonlyRootfs",
					     "SecurityOpt", "CapDrop",	   "Tmpfs" };
	mr_auto_json json_t *body = body_with(set);
	struct mr_error err = MR_ERROR_INIT;

	(void)state;
	assert_int_equal(mr_docker_create_verify(body, body, &err), 0);
	for (size_t i = 0; i < N_ELEMENTS(names); i++) {
		mr_auto_json json_t *shown = json_deep_copy(body);
		char message[100];

		json_object_set_new(json_object_get(shown, "HostConfig"), names[i],
				    json_integer(0));
		assert_int_equal(mr_docker_create_verify(body, shown, &err), -EOPNOTSUPP);
		snprintf(message, sizeof(message),
			 "the engine does not show HostConfig.%s as it was asked for", names[i]);
		assert_string_equal(err.msg, message);
	}
}

/* Their order, what an engine adds and how podman calls them do not count; a value does. */
static void what_is_shown_of_ulimits_must_be_what_was_asked(void **state)
{
	static const char *const set[] = { "limits.nofile=100", NULL };
	static const struct {
		const char *shown;
		int r;
	} rows[] = {
#define REST                                                                                    \
	"{\"Name\":\"stack\",\"Soft\":8388608,\"Hard\":8388608},{\"Name\":\"core\",\"Soft\":0," \
	"\"Hard\":0},"                                                                          \
	"{\"Name\":\"fsize\",\"Soft\":-1,\"Hard\":-1}"
		{ "[" REST ",{\"Name\":\"nofile\",\"Soft\":100,\"Hard\":100}]", 0 },
		{ "[" REST ",{\"Name\":\"RLIMIT_NOFILE\",\"Soft\":100,\"Hard\":100},"
		  "{\"Name\":\"RLIMIT_NPROC\",\"Soft\":7,\"Hard\":7}]",
		  0 },
		{ "[" REST ",{\"Name\":\"nofile\",\"Soft\":100,\"Hard\":1048576}]", -EOPNOTSUPP },
		{ "[" REST ",{\"Name\":\"nofile\",\"Soft\":-1,\"Hard\":-1}]", -EOPNOTSUPP },
		{ "[" REST ",{\"Name\":\"nproc\",\"Soft\":100,\"Hard\":100}]", -EOPNOTSUPP },
		{ "[" REST "]", -EOPNOTSUPP },
#undef REST
	};
	mr_auto_json json_t *body = body_with(set);
	struct mr_error err = MR_ERROR_INIT;

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		mr_auto_json json_t *shown = json_deep_copy(body);

		json_object_set_new(json_object_get(shown, "HostConfig"), "Ulimits",
				    json_loads(rows[i].shown, 0, NULL));
		assert_int_equal(mr_docker_create_verify(body, shown, &err), rows[i].r);
	}
}

static void the_empty_image_is_a_tar(void **state)
{
	size_t size = 0;
	mr_auto_free char *tar = mr_docker_image_skeleton(&size);

	(void)state;
	assert_int_equal(size % 512, 0);
	assert_true(size >= 10 * 512);
	assert_string_equal(tar, "dev");
	assert_memory_equal(tar + 257, "ustar\00000", 8);
	for (size_t i = 0; i < 1024; i++)
		assert_int_equal(tar[size - 1 - i], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stream_may_be_cut_anywhere),
		cmocka_unit_test(half_a_frame_is_not_whole),
		cmocka_unit_test(the_largest_frame_costs_no_memory),
		cmocka_unit_test(what_is_no_frame_is_refused),
		cmocka_unit_test(made_has_an_id_and_warnings),
		cmocka_unit_test(an_engine_says_which_apis_it_has),
		cmocka_unit_test(waited_has_a_status),
		cmocka_unit_test(garbage_is_no_answer),
		cmocka_unit_test(statistics_are_what_there_is),
		cmocka_unit_test(limits_are_asked_for),
		cmocka_unit_test(unlimited_is_not_zero),
		cmocka_unit_test(every_lock_is_on),
		cmocka_unit_test(what_is_shown_must_be_what_was_asked),
		cmocka_unit_test(what_is_shown_of_ulimits_must_be_what_was_asked),
		cmocka_unit_test(the_empty_image_is_a_tar),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
