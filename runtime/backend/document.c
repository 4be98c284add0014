/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Document
 *
 * The members of runtime/supervise/result.c, with nothing measured.
 */
#include "runtime/backend/document.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/text.h"
#include "runtime/spec/failures.h"
#include "runtime/spec/spec.h"
#include "runtime/supervise/capture.h"
#include "runtime/supervise/telemetry.h"

static json_t *time_json(uint64_t real_ns)
{
	char text[40], day[24];
	struct tm tm;
	time_t seconds;

	if (!real_ns)
		real_ns = mr_clock_ns(MR_CLOCK_REAL);
	seconds = (time_t)(real_ns / 1000000000);
	gmtime_r(&seconds, &tm);
	strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text, sizeof(text), "%s.%06juZ", day, (uintmax_t)(real_ns % 1000000000 / 1000));
	return json_string(text);
}

static json_t *exit_json(const struct mr_verdict *v)
{
	return json_pack("{s:i, s:o, s:o, s:s?}", "status", v->exit_status, "code",
			 v->has_code ? json_integer(v->code) : json_null(), "signal",
			 v->signal ? json_integer(v->signal) : json_null(), "signal_name",
			 v->signal ? sigabbrev_np(v->signal) : NULL);
}

static json_t *usage_json(void)
{
	return json_pack(
		"{s:n, s:{s:n, s:n, s:n, s:n, s:n, s:n, s:n, s:n}, s:{s:n, s:n, s:n, s:n}, "
		"s:{s:n, s:n, s:n}, s:{s:n, s:n, s:n}, s:{s:n, s:n, s:n, s:n, s:n, s:n}, "
		"s:{s:n, s:n}, s:{s:n, s:n, s:n, s:s}, s:{s:n, s:n, s:n, s:n, s:n}}",
		"wall_us", "cpu", "usage_us", "user_us", "system_us", "source", "rusage_us",
		"difference_us", "throttled_us", "throttled_periods", "memory", "peak_bytes",
		"source", "largest_process_bytes", "limit_hits", "page_faults", "minor", "major",
		"source", "context_switches", "voluntary", "involuntary", "source", "io",
		"block_read_bytes", "block_write_bytes", "block_read_ops", "block_write_ops",
		"rusage_inblock_512", "rusage_oublock_512", "disk", "used_bytes", "used_inodes",
		"pids", "peak", "limit_hits", "unreaped", "unreaped_why",
		"another backend did the run: see receipt.backend", "pressure", "cpu_some_us",
		"memory_some_us", "memory_full_us", "io_some_us", "io_full_us");
}

static json_t *stream_json(const struct mr_capture *capture)
{
	struct mr_capture empty;
	json_t *json;

	if (capture)
		return mr_capture_to_json(capture);
	mr_capture_init(&empty, 0, 0);
	json = mr_capture_to_json(&empty);
	mr_capture_deinit(&empty);
	return json;
}

static json_t *denials_json(void)
{
	return json_pack("{s:n, s:n, s:{s:n, s:n, s:n, s:n, s:n}, s:[], s:[], s:[{s:s, s:s, s:s}]}",
			 "total", "dropped", "by_layer", "seccomp", "landlock", "mount", "network",
			 "limits", "rows", "overflow", "unseen", "layer", "seccomp", "what",
			 "all denials", "why",
			 "the run was not on this host's kernel by us: see receipt.backend");
}

static json_t *telemetry_json(const struct mr_spec *spec)
{
	struct mr_telemetry none = {
		.requested = (enum mr_telemetry_level)spec->telemetry_level,
		.why = { .code = MR_E_KERNEL,
			 .msg = "another backend did the run: see receipt.backend" },
	};

	return mr_telemetry_to_json(&none);
}

static json_t *receipt_json(const struct mr_spec *spec)
{
	static const char *const words[] = { MR_WORDS_net };

	return json_pack("{s:b, s:{s:s, s:{}}, s:{s:s, s:n, s:n, s:n, s:{}}, "
			 "s:{s:s, s:n, s:n, s:n, s:n, s:n, s:n, s:n, s:n}, s:{s:s, s:n, s:n}, "
			 "s:{s:s, s:n}, s:{s:s, s:i, s:n, s:n, s:n, s:b}, "
			 "s:{s:s, s:s, s:n, s:n, s:n, s:n}, s:[]}",
			 "verified_before_start", 0, "namespaces", "state", "unknown", "inodes",
			 "cgroup", "state", "unknown", "note", "mode", "path", "limits", "identity",
			 "state", "unknown", "host_uid", "host_gid", "no_new_privs",
			 "cap_inheritable", "cap_permitted", "cap_effective", "cap_bounding",
			 "cap_ambient", "mounts", "state", "unknown", "mountinfo_sha256", "count",
			 "landlock", "state", "unknown", "abi", "seccomp", "state", "unknown",
			 "level", (int)spec->sandbox_level, "filter_sha256", "filter_instructions",
			 "default_action", "denials_recorded", 0, "network", "state", "unknown",
			 "mode", words[spec->net_mode], "links", "routes", "shaping", "faults",
			 "degraded");
}

/* Nothing is known of them; who made the run says more. */
static void put_failures(const struct mr_spec *spec, json_t *result)
{
	const bool asked = mr_spec_failures(spec) != 0;
	json_t *why = json_array();

	if (asked)
		json_array_append_new(why, json_string("the run did not come to its failures"));
	json_object_set_new(result, "failures", asked ? json_null() : json_array());
	json_object_set_new(result, "failure_seed", json_null());
	json_object_set_new(result, "inconclusive", json_boolean(asked));
	json_object_set_new(result, "inconclusive_why", why);
}

json_t *mr_document_make(const struct mr_document *d)
{
	const char *limit = mr_reason_limit(d->verdict.reason);
	json_t *unenforced = json_array(), *result;
	char hash[65];

	mr_spec_hash(d->spec, hash);
	for (size_t i = 0; i < d->spec->unenforced.n; i++)
		json_array_append_new(unenforced, json_string(d->spec->unenforced.v[i]));
	result = json_pack("{s:s, s:s, s:s, s:s?, s:s, s:o, s:s, s:o, s:o}", "schema",
			   "menace.result/1", "version", MENACE_VERSION, "run_id", d->run_id,
			   "name", d->spec->name, "spec_sha256", hash, "started_at",
			   time_json(d->start_real_ns), "reason", mr_reason_name(d->verdict.reason),
			   "exit", exit_json(&d->verdict), "error",
			   d->error ? mr_text_error(d->error) : json_null());
	mr_assert(result);
	json_object_set_new(result, "usage", usage_json());
	json_object_set_new(result, "limits", mr_spec_limits_to_json(d->spec));
	json_object_set_new(result, "limits_hit", limit ? json_pack("[s]", limit) : json_array());
	json_object_set_new(result, "oom", json_pack("{s:n, s:n}", "kills", "level"));
	json_object_set_new(result, "leftover_killed", json_null());
	json_object_set_new(result, "stdout", stream_json(d->out));
	json_object_set_new(result, "stderr", stream_json(d->err));
	json_object_set_new(result, "workspace", json_null());
	json_object_set_new(result, "denials", denials_json());
	put_failures(d->spec, result);
	json_object_set_new(result, "network", json_null());
	json_object_set_new(result, "telemetry", telemetry_json(d->spec));
	json_object_set_new(result, "receipt", receipt_json(d->spec));
	json_object_set_new(result, "not_enforced", unenforced);
	json_object_set_new(result, "timings",
			    json_pack("{s:n, s:n, s:n, s:n, s:n, s:n, s:{}}", "cgroup_us",
				      "clone_us", "setup_us", "held_us", "teardown_us",
				      "clock_skew_ns", "steps_us"));
	return result;
}

bool mr_document_not_begun(const char *reason)
{
	return reason && (strcmp(reason, mr_reason_name(MR_REASON_setup_error)) == 0 ||
			  strcmp(reason, mr_reason_name(MR_REASON_skipped)) == 0);
}
