/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Docker, result
 *
 * The receipt says "asked": the engine was asked for it and shows it as set; nothing was read back
 * from the kernel.
 */
#include "runtime/backend/docker_result.h"

#include <string.h>

#include "runtime/backend/document.h"
#include "runtime/base/clock.h"
#include "runtime/base/hash.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/json.h"
#include "runtime/spec/spec.h"

#define STATUS_LOST 125

static void set_span(json_t *object, const char *name, uint64_t from_ns, uint64_t to_ns)
{
	if (from_ns && to_ns >= from_ns)
		json_object_set_new(object, name,
				    json_integer((json_int_t)((to_ns - from_ns) / 1000)));
}

static void set_number(json_t *object, const char *name, uint64_t value, uint64_t divisor)
{
	if (value != UINT64_MAX)
		json_object_set_new(object, name, json_integer((json_int_t)(value / divisor)));
}

static void set_usage(json_t *usage, const struct mr_docker_facts *f)
{
	json_t *cpu = json_object_get(usage, "cpu"), *memory = json_object_get(usage, "memory");

	set_span(usage, "wall_us", f->go_ns, f->end_ns);
	if (!f->has_stats)
		return;
	set_number(cpu, "usage_us", f->stats.cpu_ns, 1000);
	set_number(cpu, "user_us", f->stats.cpu_user_ns, 1000);
	set_number(cpu, "system_us", f->stats.cpu_system_ns, 1000);
	json_object_set_new(cpu, "source", json_string("polled engine statistics"));
	set_number(memory, "peak_bytes", f->stats.memory_peak_bytes, 1);
	if (f->stats.memory_peak_bytes != UINT64_MAX)
		json_object_set_new(memory, "source", json_string("polled engine statistics"));
}

static json_t *hits_json(const struct mr_docker_facts *f)
{
	const char *limit = mr_kill_limit(f->facts.kill);
	json_t *hit = json_array();

	if (limit)
		json_array_append_new(hit, json_string(limit));
	if (f->facts.oom_kills && f->facts.kill != MR_KILL_OOM)
		json_array_append_new(hit, json_string("memory"));
	return hit;
}

static void set_state(json_t *receipt, const char *layer, const char *state)
{
	json_object_set_new(json_object_get(receipt, layer), "state", json_string(state));
}

static void add_limit(json_t *limits, const char *key, const json_t *host, const char *name)
{
	const json_t *value = json_object_get(host, name);

	if (value)
		json_object_set_new(limits, key,
				    json_pack("{s:O, s:s}", "value", value, "file", name));
}

static void set_limits(json_t *receipt, const json_t *host)
{
	json_t *limits = json_object_get(json_object_get(receipt, "cgroup"), "limits");

	add_limit(limits, "memory_max_bytes", host, "Memory");
	add_limit(limits, "memory_and_swap_max_bytes", host, "MemorySwap");
	add_limit(limits, "pids_max", host, "PidsLimit");
	add_limit(limits, "cpu_quota_us", host, "CpuQuota");
	add_limit(limits, "cpu_period_us", host, "CpuPeriod");
}

static void set_filter(json_t *receipt, const json_t *host)
{
	const char *text =
		json_string_value(json_array_get(json_object_get(host, "SecurityOpt"), 1));
	char hash[MR_HASH_HEX_SIZE];
	json_t *seccomp = json_object_get(receipt, "seccomp");

	if (!text)
		return;
	mr_hash_hex(text, strlen(text), hash);
	json_object_set_new(seccomp, "profile_sha256", json_string(hash));
	json_object_set_new(seccomp, "default_action", json_string("errno(ENOSYS)"));
}

static void set_receipt(json_t *receipt, const struct mr_docker_facts *f)
{
	static const char *const layers[] = { "namespaces", "cgroup",  "identity",
					      "mounts",	    "seccomp", "network" };
	const json_t *host = json_object_get(f->asked, "HostConfig");
	json_t *identity = json_object_get(receipt, "identity");

	set_state(receipt, "landlock",
		  f->spec->sandbox_level >= 3 ? "unavailable" : "not_requested");
	json_object_set_new(receipt, "container",
			    json_pack("{s:s, s:s, s:s, s:s?}", "engine", f->engine, "id",
				      f->container, "image", f->image, "pool", f->pool));
	if (!host || !f->go_ns)
		return;
	for (size_t i = 0; i < N_ELEMENTS(layers); i++)
		set_state(receipt, layers[i], "asked");
	json_object_set_new(identity, "host_uid", json_integer(f->uid));
	json_object_set_new(identity, "host_gid", json_integer(f->gid));
	json_object_set_new(identity, "no_new_privs", json_true());
	set_limits(receipt, host);
	set_filter(receipt, host);
}

static struct mr_verdict verdict_of(const struct mr_docker_facts *f)
{
	struct mr_verdict verdict = mr_verdict_reach(&f->facts);

	if (f->lost)
		verdict = (struct mr_verdict){ .reason = MR_REASON_supervisor_lost,
					       .exit_status = STATUS_LOST };
	return verdict;
}

json_t *mr_docker_result_make(const struct mr_docker_facts *f)
{
	const struct mr_document document = { .spec = f->spec,
					      .run_id = f->run_id,
					      .start_real_ns = f->start_real_ns,
					      .verdict = verdict_of(f),
					      .error = f->error,
					      .out = f->out,
					      .err = f->err };
	json_t *result = mr_document_make(&document);
	json_t *timings = json_object_get(result, "timings");

	set_usage(json_object_get(result, "usage"), f);
	json_object_set_new(result, "limits_hit", hits_json(f));
	if (f->facts.oom_kills)
		json_object_set_new(json_object_get(result, "oom"), "level",
				    json_string("container"));
	if (f->telemetry)
		json_object_set_new(result, "telemetry", f->telemetry);
	set_receipt(json_object_get(result, "receipt"), f);
	set_span(timings, "setup_us", f->begin_ns, f->go_ns);
	set_span(timings, "teardown_us", f->end_ns, f->done_ns);
	json_object_set_new(timings, "clock_skew_ns",
			    json_integer(mr_clock_skew_ns(&f->clock_start, &f->clock_done)));
	return result;
}
