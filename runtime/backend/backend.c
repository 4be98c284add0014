/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Backend
 *
 * backends.def is read three times: for the backends, for the needs, and for what each can do
 * of each.  What a need is for, and when a spec has it, is one row of wants[].
 */
#include "runtime/backend/backend.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/str.h"
#include "runtime/spec/failures.h"
#include "runtime/spec/net.h"
#include "runtime/spec/policy.h"

struct backend_row {
	const char *name, *program, *help;
};

static const struct backend_row backends[] = {
	{ "auto", NULL, "the first of the others that can" },
#define BACKEND(name, program, help) { #name, program, help },
#define NEED(...)
#include "runtime/backend/backends.def"
#undef BACKEND
#undef NEED
};
_Static_assert(N_ELEMENTS(backends) == MR_BACKEND_QEMU + 1, "enum mr_backend has other rows");

struct ability {
	enum mr_backend_can can;
	const char *loss;
};

struct need_row {
	const char *name, *text;
	struct ability by[MR_BACKEND_QEMU + 1];
};

#define CAN                          \
	{                            \
		MR_BACKEND_CAN, NULL \
	}
#define LOSS(text)                    \
	{                             \
		MR_BACKEND_LOSS, text \
	}
#define MAY_LOSE(text)                    \
	{                                 \
		MR_BACKEND_MAY_LOSE, text \
	}
#define CANNOT                          \
	{                               \
		MR_BACKEND_CANNOT, NULL \
	}
static const struct need_row needs[MR_NEED_COUNT_] = {
#define BACKEND(...)
#define NEED(name, text, ...) [MR_NEED_##name] = { #name, text, { CAN, __VA_ARGS__ } },
#include "runtime/backend/backends.def"
#undef BACKEND
#undef NEED
};
#undef CAN
#undef LOSS
#undef MAY_LOSE
#undef CANNOT

const char *mr_backend_name(enum mr_backend backend)
{
	return backends[backend].name;
}

const char *mr_backend_program(enum mr_backend backend)
{
	return backends[backend].program;
}

const char *mr_backend_help(enum mr_backend backend)
{
	return backends[backend].help;
}

const char *mr_backend_need_name(enum mr_backend_need need)
{
	return needs[need].name;
}

const char *mr_backend_need_text(enum mr_backend_need need)
{
	return needs[need].text;
}

enum mr_backend_need mr_backend_need_find(const char *name)
{
	size_t i = 0;

	while (i < MR_NEED_COUNT_ && strcmp(needs[i].name, name) != 0)
		i++;
	return (enum mr_backend_need)i;
}

enum mr_backend_can mr_backend_can(enum mr_backend backend, enum mr_backend_need need,
				   const char **ret_loss)
{
	const struct ability *ability = &needs[need].by[backend];

	if (ret_loss)
		*ret_loss = ability->loss;
	return ability->can;
}

/* --- what a spec needs -------------------------------------------------------------------- */

static bool always(const struct mr_spec *spec)
{
	(void)spec;
	return true;
}

/* Nothing of a spec: who knows of it adds it. */
static bool never(const struct mr_spec *spec)
{
	(void)spec;
	return false;
}

static bool wants_telemetry(const struct mr_spec *spec)
{
	return spec->telemetry_level != MR_TELEMETRY_OFF;
}

static bool wants_landlock(const struct mr_spec *spec)
{
	return spec->sandbox_level >= 3 || (spec->policy && spec->policy->has_paths);
}

static bool wants_no_exec(const struct mr_spec *spec)
{
	return spec->sandbox_level >= 4;
}

static bool wants_policy(const struct mr_spec *spec)
{
	return spec->policy != NULL;
}

static bool wants_record(const struct mr_spec *spec)
{
	return spec->sandbox_record_access || spec->sandbox_explain_denials;
}

static bool wants_workspace(const struct mr_spec *spec)
{
	return spec->sandbox_workspace[0] != '\0';
}

static bool wants_keep_changes(const struct mr_spec *spec)
{
	return spec->sandbox_keep_changes[0] != '\0';
}

static bool is_utf8(const char *text)
{
	return !text || mr_str_utf8_valid(text, strlen(text));
}

static bool are_utf8(const struct mr_strv *texts)
{
	for (size_t i = 0; i < texts->n; i++)
		if (!is_utf8(texts->v[i]))
			return false;
	return true;
}

/* Variables that are handed on have the values that they have here. */
static bool are_passed_utf8(const struct mr_strv *names)
{
	for (size_t i = 0; i < names->n; i++) {
		const char *value = getenv(names->v[i]);

		if (value && (!is_utf8(names->v[i]) || !is_utf8(value)))
			return false;
	}
	return true;
}

static bool wants_bytes(const struct mr_spec *spec)
{
	if (!are_utf8(&spec->argv) || !are_utf8(&spec->env) || !are_passed_utf8(&spec->env_pass) ||
	    !is_utf8(spec->sandbox_cwd) || !is_utf8(spec->snippet_path) ||
	    !is_utf8(spec->sandbox_image))
		return true;
	for (size_t i = 0; i < spec->n_mounts; i++)
		if (!is_utf8(spec->mounts[i].source) || !is_utf8(spec->mounts[i].dest))
			return true;
	return false;
}

static bool wants_rw(const struct mr_spec *spec)
{
	for (size_t i = 0; i < spec->n_mounts; i++)
		if (spec->mounts[i].kind == MR_MOUNT_RW)
			return true;
	return false;
}

/* With a folder between them, which the program could rename. */
static bool is_deep_below(const char *path, const char *folder)
{
	const size_t len = strlen(folder);

	return strncmp(path, folder, len) == 0 && path[len] == '/' && strchr(path + len + 1, '/');
}

static bool wants_held(const struct mr_spec *spec)
{
	for (size_t i = 0; i < spec->n_mounts; i++)
		for (size_t k = 0; k < spec->n_mounts; k++)
			if (spec->mounts[i].kind == MR_MOUNT_RW &&
			    spec->mounts[k].kind == MR_MOUNT_RO &&
			    is_deep_below(spec->mounts[k].dest, spec->mounts[i].dest))
				return true;
	return false;
}

static bool wants_hide(const struct mr_spec *spec)
{
	for (size_t i = 0; i < spec->n_mounts; i++)
		if (spec->mounts[i].kind == MR_MOUNT_HIDE)
			return true;
	return false;
}

static bool wants_root(const struct mr_spec *spec)
{
	return spec->sandbox_root[0] != '\0';
}

static bool wants_tty(const struct mr_spec *spec)
{
	return spec->sandbox_tty;
}

static bool wants_userns(const struct mr_spec *spec)
{
	return spec->sandbox_userns == MR_USERNS_ALWAYS;
}

static bool wants_disk(const struct mr_spec *spec)
{
	return spec->limits_disk_bytes != MR_UNLIMITED || spec->limits_disk_inodes != MR_UNLIMITED;
}

static bool wants_cpu_time(const struct mr_spec *spec)
{
	return spec->limits_cpu_time_ms != MR_UNLIMITED;
}

/* With a limit of memory an engine takes both. */
static bool wants_swap(const struct mr_spec *spec)
{
	return spec->limits_memory_max_bytes == MR_UNLIMITED &&
	       spec->limits_swap_max_bytes != MR_UNLIMITED;
}

static bool wants_net_none(const struct mr_spec *spec)
{
	return spec->net_mode == MR_NET_NONE;
}

static bool wants_loopback(const struct mr_spec *spec)
{
	return spec->net_mode == MR_NET_LOOPBACK;
}

static bool wants_stub(const struct mr_spec *spec)
{
	return spec->net_mode == MR_NET_STUB;
}

static bool wants_commands(const struct mr_spec *spec)
{
	for (size_t i = 0; i < spec->mocks.n; i++)
		if (spec->mocks.v[i].by_command)
			return true;
	return false;
}

static bool wants_allowlist(const struct mr_spec *spec)
{
	return spec->net_mode == MR_NET_ALLOWLIST;
}

static bool wants_net_host(const struct mr_spec *spec)
{
	return spec->net_mode == MR_NET_HOST;
}

static bool wants_conditions(const struct mr_spec *spec)
{
	struct mr_conditions asked;

	mr_spec_conditions(spec, &asked);
	return mr_conditions_asked(&asked) != 0 || spec->net_faults.n > 0;
}

static bool wants_failures(const struct mr_spec *spec)
{
	return mr_spec_failures(spec) != 0;
}

/* A machine has its programs on its disk; that a container would have had another is then no matter. */
static bool wants_image(const struct mr_spec *spec)
{
	return spec->sandbox_image[0] != '\0' && !mr_spec_wants_vm(spec);
}

static bool (*const wants[MR_NEED_COUNT_])(const struct mr_spec *spec) = {
	[MR_NEED_usage] = always,
	[MR_NEED_denials] = always,
	[MR_NEED_receipt] = always,
	[MR_NEED_time_namespace] = always,
	[MR_NEED_exit_status] = always,
	[MR_NEED_oom] = always,
	[MR_NEED_surroundings] = always,
	[MR_NEED_reader] = always,
	[MR_NEED_telemetry] = wants_telemetry,
	[MR_NEED_landlock] = wants_landlock,
	[MR_NEED_no_exec] = wants_no_exec,
	[MR_NEED_policy] = wants_policy,
	[MR_NEED_record] = wants_record,
	[MR_NEED_workspace] = wants_workspace,
	[MR_NEED_keep_changes] = wants_keep_changes,
	[MR_NEED_hide] = wants_hide,
	[MR_NEED_root] = wants_root,
	[MR_NEED_tty] = wants_tty,
	[MR_NEED_userns] = wants_userns,
	[MR_NEED_disk] = wants_disk,
	[MR_NEED_cpu_time] = wants_cpu_time,
	[MR_NEED_swap] = wants_swap,
	[MR_NEED_rw_mount] = wants_rw,
	[MR_NEED_held_mount] = wants_held,
	[MR_NEED_net_none] = wants_net_none,
	[MR_NEED_loopback] = wants_loopback,
	[MR_NEED_stub] = wants_stub,
	[MR_NEED_commands] = wants_commands,
	[MR_NEED_allowlist] = wants_allowlist,
	[MR_NEED_net_host] = wants_net_host,
	[MR_NEED_conditions] = wants_conditions,
	[MR_NEED_failures] = wants_failures,
	[MR_NEED_bytes] = wants_bytes,
	[MR_NEED_image] = wants_image,
	[MR_NEED_vm] = mr_spec_wants_vm,
	[MR_NEED_cgroup_parent] = never,
};

uint64_t mr_backend_needs(const struct mr_spec *spec)
{
	uint64_t mask = 0;

	for (size_t i = 0; i < MR_NEED_COUNT_; i++) {
		mr_assert(wants[i]);
		if (wants[i](spec))
			mask |= UINT64_C(1) << i;
	}
	return mask;
}
