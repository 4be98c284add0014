/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Docker, create
 *
 * One function a kind of limit; locks[] is what has to come back as it was asked for.
 */
#include "runtime/backend/docker_create.h"

#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "runtime/backend/docker_seccomp.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/launch/steps.h"

#define CPU_PERIOD_US 100000
#define SHM_BYTES 67108864

/* As in runtime/launch/rootfs.c: of /etc what programs fail without. */
static const char *const etc_entries[] = {
	"alternatives", "fonts", "java-*",    "ld.so.cache", "localtime", "mime.types",
	"os-release",	"php*",	 "protocols", "services",    "timezone",
};

static const char *const own_etc[] = { MR_DOCKER_ETC };

/* What the engine masks by itself, and /sys, which a payload has no use for. */
static const char *const masked[] = {
	"/proc/asound",	       "/proc/acpi",
	"/proc/kcore",	       "/proc/keys",
	"/proc/latency_stats", "/proc/timer_list",
	"/proc/timer_stats",   "/proc/sched_debug",
	"/proc/scsi",	       "/sys",
};
static const char *const read_only[] = { "/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys",
					 "/proc/sysrq-trigger" };

const char *const *mr_docker_system_entries(size_t *ret_n)
{
	return mr_rootfs_system_entries(ret_n);
}

static json_t *list_of(const char *const *items, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, json_string(items[i]));
	return list;
}

/* What JSON cannot hold was refused before (docker_run.c): leaving it out would be another run. */
static json_t *strv_json(char **strv)
{
	json_t *list = json_array();

	for (size_t i = 0; strv && strv[i]; i++)
		mr_assert(json_array_append_new(list, json_string(strv[i])) == 0);
	return list;
}

/* --- files ----------------------------------------------------------------------------------- */

static void add_bind(json_t *mounts, const char *source, const char *dest, bool ro)
{
	json_t *bind =
		json_pack("{s:s, s:s, s:s, s:b, s:{s:s}}", "Type", "bind", "Source", source,
			  "Target", dest, "ReadOnly", ro, "BindOptions", "Propagation", "rprivate");

	mr_assert(json_array_append_new(mounts, bind) == 0);
}

static bool is_folder(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static void add_etc(json_t *mounts)
{
	for (size_t i = 0; i < N_ELEMENTS(etc_entries); i++) {
		mr_auto_free char *pattern = mr_str_format("/etc/%s", etc_entries[i]);
		glob_t found = { 0 };
		struct stat st;

		if (glob(pattern, 0, NULL, &found) == 0)
			for (size_t j = 0; j < found.gl_pathc; j++)
				if (stat(found.gl_pathv[j], &st) == 0 &&
				    mr_str_utf8_valid(found.gl_pathv[j], strlen(found.gl_pathv[j])))
					add_bind(mounts, found.gl_pathv[j], found.gl_pathv[j],
						 true);
		globfree(&found);
	}
}

/* Links among them (/bin of a merged /usr) are in the image. */
static void add_system(json_t *mounts, const struct mr_docker_create *create)
{
	size_t n;
	const char *const *entries = mr_docker_system_entries(&n);

	for (size_t i = 0; i < n; i++) {
		mr_auto_free char *path = mr_str_format("/%s", entries[i]);

		if (is_folder(path))
			add_bind(mounts, path, path, true);
	}
	add_etc(mounts);
	for (size_t i = 0; i < N_ELEMENTS(own_etc); i++) {
		mr_auto_free char *source = mr_str_format("%s/%s", create->etc_folder, own_etc[i]);
		mr_auto_free char *dest = mr_str_format("/etc/%s", own_etc[i]);

		add_bind(mounts, source, dest, true);
	}
}

/* Of one that is read-only what is mounted below it as well, or the engine refuses. */
static void force_ro(json_t *mounts)
{
	json_t *mount;
	size_t i;

	json_array_foreach (mounts, i, mount)
		if (json_is_true(json_object_get(mount, "ReadOnly")))
			json_object_set_new(json_object_get(mount, "BindOptions"),
					    "ReadOnlyForceRecursive", json_true());
}

static json_t *mounts_json(const struct mr_docker_create *create)
{
	const struct mr_spec *spec = create->spec;
	json_t *mounts = json_array();

	if (create->host_system)
		add_system(mounts, create);
	for (size_t i = 0; i < spec->n_mounts; i++) {
		const struct mr_spec_mount *m = &spec->mounts[i];

		if (m->kind == MR_MOUNT_RO || m->kind == MR_MOUNT_RW)
			add_bind(mounts, m->source, m->dest, m->kind == MR_MOUNT_RO);
	}
	if (create->init_file)
		add_bind(mounts, create->init_file, MR_DOCKER_INIT, true);
	if (create->snippet_folder)
		add_bind(mounts, create->snippet_folder, "/run/snippet", true);
	if (create->forces_ro)
		force_ro(mounts);
	return mounts;
}

static void add_tmpfs(json_t *tmpfs, const struct mr_docker_create *create, const char *dest,
		      uint64_t size, unsigned int mode)
{
	const uint64_t inodes = create->spec->limits_disk_inodes;
	char buf[200];
	struct mr_str text;

	mr_str_init(&text, buf, sizeof(buf));
	mr_str_printf(&text, "rw,exec,nosuid,nodev,mode=%04o,uid=%u,gid=%u", mode, create->uid,
		      create->gid);
	if (size != MR_UNLIMITED)
		mr_str_printf(&text, ",size=%" PRIu64, size);
	if (inodes != MR_UNLIMITED) /* its own folder is one, too */
		mr_str_printf(&text, ",nr_inodes=%" PRIu64, inodes + 1);
	mr_assert(json_object_set_new(tmpfs, dest, json_string(buf)) == 0);
}

static json_t *tmpfs_json(const struct mr_docker_create *create)
{
	const struct mr_spec *spec = create->spec;
	json_t *tmpfs = json_object();

	add_tmpfs(tmpfs, create, "/tmp", spec->limits_disk_bytes, 01777);
	add_tmpfs(tmpfs, create, "/work", spec->limits_disk_bytes, 0755);
	for (size_t i = 0; i < spec->n_mounts; i++) {
		const struct mr_spec_mount *m = &spec->mounts[i];

		if (m->kind == MR_MOUNT_TMPFS)
			add_tmpfs(tmpfs, create, m->dest,
				  m->size_bytes ? m->size_bytes : spec->limits_disk_bytes, 0755);
	}
	return tmpfs;
}

/* --- limits ------------------------------------------------------------------------------------ */

static json_t *signed_limit(uint64_t value)
{
	return json_integer(value == MR_UNLIMITED ? -1 : (json_int_t)value);
}

static json_t *ulimits_json(const struct mr_spec *spec)
{
	const struct {
		const char *name;
		uint64_t value;
	} rows[] = { { "nofile", spec->limits_nofile },
		     { "fsize", spec->limits_fsize_bytes },
		     { "core", spec->limits_core_bytes },
		     { "stack", spec->limits_stack_bytes } };
	json_t *list = json_array();

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		json_array_append_new(list, json_pack("{s:s, s:o, s:o}", "Name", rows[i].name,
						      "Soft", signed_limit(rows[i].value), "Hard",
						      signed_limit(rows[i].value)));
	return list;
}

static void set_memory(json_t *host, const struct mr_spec *spec)
{
	const uint64_t memory = spec->limits_memory_max_bytes, swap = spec->limits_swap_max_bytes;

	/* It takes no limit of swap alone, either: a loss, backends.def. */
	if (memory == MR_UNLIMITED)
		return;
	json_object_set_new(host, "Memory", json_integer((json_int_t)memory));
	json_object_set_new(host, "MemorySwap",
			    signed_limit(swap == MR_UNLIMITED ? swap : memory + swap));
}

static void set_limits(json_t *host, const struct mr_spec *spec)
{
	set_memory(host, spec);
	if (spec->limits_cpus != MR_UNLIMITED) {
		const uint64_t quota_us = spec->limits_cpus * CPU_PERIOD_US / 1000;

		json_object_set_new(host, "CpuPeriod", json_integer(CPU_PERIOD_US));
		json_object_set_new(host, "CpuQuota", json_integer((json_int_t)quota_us));
	}
	/* One more for the container's init. */
	json_object_set_new(host, "PidsLimit",
			    spec->limits_pids_max == MR_UNLIMITED
				    ? json_integer(-1)
				    : json_integer((json_int_t)spec->limits_pids_max + 1));
	json_object_set_new(host, "Ulimits", ulimits_json(spec));
	json_object_set_new(host, "ShmSize",
			    json_integer(spec->limits_disk_bytes < SHM_BYTES
						 ? (json_int_t)spec->limits_disk_bytes
						 : SHM_BYTES));
}

/* --- the whole ---------------------------------------------------------------------------------- */

static json_t *security_json(const struct mr_spec *spec)
{
	mr_auto_json json_t *profile = mr_docker_seccomp((unsigned int)spec->sandbox_level);
	mr_auto_free char *text = json_dumps(profile, JSON_COMPACT);
	mr_auto_free char *option = NULL;

	mr_assert(text);
	option = mr_str_format("seccomp=%s", text);
	return json_pack("[s, s]", "no-new-privileges", option);
}

/* The engine's init would be put where the host's /sbin is shown.  An engine makes a working
 * folder that is missing: ours enters it, or says so. */
static json_t *entrypoint_json(const struct mr_docker_create *create)
{
	mr_auto_free char *wait = NULL;

	if (!create->init_file)
		return json_array();
	wait = mr_str_format("%" PRIu64, create->wait_ms);
	return json_pack("[s, s]", MR_DOCKER_INIT, wait);
}

static json_t *labels_json(const struct mr_docker_create *create)
{
	json_t *labels = json_pack("{s:s, s:s}",
				   create->pool_id ? MR_DOCKER_LABEL_POOL : MR_DOCKER_LABEL_RUN,
				   create->pool_id ? create->pool_id : create->run_id,
				   MR_DOCKER_LABEL_LEASE, create->lease);

	if (create->machine)
		json_object_set_new(labels, MR_DOCKER_LABEL_MACHINE, json_string(create->machine));
	return labels;
}

/* A name without "=" takes back what an engine adds by itself. */
static json_t *env_json(char **envp)
{
	json_t *list = strv_json(envp);

	for (size_t i = 0; envp && envp[i]; i++)
		if (mr_str_starts_with(envp[i], "HOSTNAME="))
			return list;
	json_array_append_new(list, json_string("HOSTNAME"));
	return list;
}

static json_t *host_json(const struct mr_docker_create *create)
{
	json_t *host = json_pack("{s:s, s:b, s:b, s:b, s:b, s:[s], s:s, s:s, s:{s:s}, s:{s:s}}",
				 "NetworkMode", "none", "ReadonlyRootfs", 1, "Privileged", 0,
				 "AutoRemove", 0, "Init", !create->init_file, "CapDrop", "ALL",
				 "IpcMode", "private", "CgroupnsMode", "private", "LogConfig",
				 "Type", "none", "RestartPolicy", "Name", "no");

	mr_assert(host);
	set_limits(host, create->spec);
	json_object_set_new(host, "SecurityOpt", security_json(create->spec));
	json_object_set_new(host, "MaskedPaths", list_of(masked, N_ELEMENTS(masked)));
	json_object_set_new(host, "ReadonlyPaths", list_of(read_only, N_ELEMENTS(read_only)));
	json_object_set_new(host, "Mounts", mounts_json(create));
	json_object_set_new(host, "Tmpfs", tmpfs_json(create));
	return host;
}

json_t *mr_docker_create_body(const struct mr_docker_create *create)
{
	mr_auto_free char *user = mr_str_format("%u:%u", create->uid, create->gid);
	const bool told_later = create->init_file != NULL;
	json_t *body = json_pack(
		"{s:s, s:s, s:s, s:s, s:b, s:b, s:b, s:b, s:b, s:b, s:b, s:o, s:o, s:o, s:o, s:o}",
		"Image", create->image, "User", user, "WorkingDir",
		create->init_file ? "/" : create->spec->sandbox_cwd, "Hostname",
		create->spec->sandbox_hostname, "Tty", 0, "OpenStdin", 1, "StdinOnce", 1,
		"AttachStdin", 1, "AttachStdout", 1, "AttachStderr", 1, "NetworkDisabled", 1,
		"Labels", labels_json(create), "Entrypoint", entrypoint_json(create), "Cmd",
		strv_json(told_later ? NULL : create->argv), "Env",
		env_json(told_later ? NULL : create->envp), "HostConfig", host_json(create));

	mr_assert(body);
	return body;
}

/* --- what can be changed later ------------------------------------------------------------------ */

static const char *const changeable[] = { "Memory", "MemorySwap", "CpuPeriod", "CpuQuota",
					  "PidsLimit" };

json_t *mr_docker_create_limits(const json_t *body)
{
	json_t *limits = json_object();

	for (size_t i = 0; i < N_ELEMENTS(changeable); i++) {
		json_t *value = mr_json_at(body, "HostConfig", changeable[i], NULL);

		if (value)
			json_object_set(limits, changeable[i], value);
	}
	return limits;
}

/* An engine takes some words of "unlimited" for "as it is": those who have no limit stay among
 * themselves. */
void mr_docker_create_drop_limits(json_t *body)
{
	json_t *host = json_object_get(body, "HostConfig");

	for (size_t i = 0; i < N_ELEMENTS(changeable); i++) {
		const json_t *value = json_object_get(host, changeable[i]);

		if (value)
			json_object_set_new(host, changeable[i],
					    json_boolean(json_integer_value(value) > 0));
	}
}

/* --- what came of it ----------------------------------------------------------------------------- */

static const char *const locks[] = {
	"Memory",	  "MemorySwap", "CpuPeriod", "CpuQuota",    "PidsLimit", "NetworkMode",
	"ReadonlyRootfs", "Privileged", "CapDrop",   "SecurityOpt", "Ulimits",	 "Tmpfs",
};

/* An engine shows "unlimited" as 0, null or not at all. */
static bool is_no_limit(const json_t *shown)
{
	return !json_is_integer(shown) ? !shown || json_is_null(shown)
				       : json_integer_value(shown) <= 0;
}

static bool is_ulimit(const json_t *shown, const char *name, json_int_t value)
{
	const char *its = mr_json_text_or_empty(shown, "Name");
	static const char *const ends[] = { "Soft", "Hard" };

	if (strncasecmp(its, "RLIMIT_", 7) == 0) /* as podman shows it */
		its += 7;
	if (strcasecmp(its, name) != 0)
		return false;
	for (size_t i = 0; i < N_ELEMENTS(ends); i++) {
		const json_t *end = json_object_get(shown, ends[i]);

		if (!json_is_integer(end) || (json_integer_value(end) != value &&
					      (value >= 0 || json_integer_value(end) >= 0)))
			return false;
	}
	return true;
}

/* The order of the list, and members that the engine adds, are its own. */
static bool are_ulimits_as_asked(const json_t *asked, const json_t *shown)
{
	for (size_t i = 0; i < json_array_size(asked); i++) {
		const json_t *one = json_array_get(asked, i);
		bool found = false;

		for (size_t k = 0; k < json_array_size(shown) && !found; k++)
			found = is_ulimit(json_array_get(shown, k),
					  mr_json_text_or_empty(one, "Name"),
					  json_integer_value(json_object_get(one, "Soft")));
		if (!found)
			return false;
	}
	return true;
}

static bool is_as_asked(const char *name, const json_t *asked, const json_t *shown)
{
	if (!asked)
		return true;
	if (strcmp(name, "PidsLimit") == 0 && json_integer_value(asked) < 0)
		return is_no_limit(shown);
	if (strcmp(name, "Ulimits") == 0)
		return are_ulimits_as_asked(asked, shown);
	return json_equal((json_t *)(uintptr_t)asked, (json_t *)(uintptr_t)shown);
}

int mr_docker_create_verify(const json_t *asked, const json_t *shown, struct mr_error *err)
{
	const json_t *asked_host = json_object_get(asked, "HostConfig");
	const json_t *shown_host = json_object_get(shown, "HostConfig");

	if (!json_is_object(shown_host))
		return mr_err(err, MR_E_PROTO, EPROTO, "the engine's answer has no HostConfig");
	for (size_t i = 0; i < N_ELEMENTS(locks); i++)
		if (!is_as_asked(locks[i], json_object_get(asked_host, locks[i]),
				 json_object_get(shown_host, locks[i])))
			return mr_err(err, MR_E_KERNEL, EOPNOTSUPP,
				      "the engine does not show HostConfig.%s as it was asked for",
				      locks[i]);
	return 0;
}
