/* SPDX-License-Identifier: Apache-2.0 */
/*
 * QEMU
 *
 * A machine that does not come up is tried again, up to ATTEMPTS times, after a pause drawn
 * from [0, base * 2^n] (full jitter).  What is missing is not tried again, nor is anything
 * after the payload may have begun.
 */
#include "runtime/backend/qemu.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cgroups/cgroup.h"
#include "runtime/backend/document.h"
#include "runtime/backend/qemu_accel.h"
#include "runtime/backend/qemu_cpio.h"
#include "runtime/backend/qemu_kernel.h"
#include "runtime/backend/qemu_result.h"
#include "runtime/backend/qemu_vm.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "runtime/base/loop.h"
#include "runtime/base/rand.h"
#include "runtime/base/str.h"
#include "runtime/base/units.h"
#include "runtime/supervise/lease.h"

#define ATTEMPTS 3
#define PAUSE_BASE_MS 500
#define BOOT_VARIABLE "MENACE_QEMU_BOOT_TIMEOUT"
#define BOOT_MS 30000 /* of one attempt, without that */
#define ALL_BOOTS_NS 45000000000ULL /* menace-run waits a minute, see handover.h */
#define IMAGE_MAX (256 << 20)
#define INIT_MAX (64 << 20)
#define GUEST_MIB 320 /* for the kernel and the supervisor inside */
#define UNLIMITED_MIB 2048
#define CPUS_MAX 8
#define PROGRAMS_MIB 256 /* QEMU's and virtiofsd's own, beside the guest's memory */
#define SWEEP_MS 2000
#define PIDS_MAX 256 /* threads of both */
#define MS 1000000ULL

/* Modules beyond those of any guest, when the sandbox has a network. */
static const char *const network_modules[] = {
	"sch_netem", "sch_tbf", "sch_ingress", "cls_bpf", "veth", "ifb", "tun", NULL,
};
static const char *const no_modules[] = { NULL };

/* All that one errand needs. */
struct job {
	const struct mr_qemu_opts *opts;
	struct mr_spec spec; /* for the guest */
	struct mr_share share;
	struct mr_kernel kernel;
	int kernel_fd, initramfs_fd, stdin_fd;
	bool own_stdin;
	enum mr_machine_accel accel;
	uint64_t boot_ms;
	unsigned int attempts;
	int lease_dir, lease; /* -1: none */
	struct mr_cgroup_host *groups;
	struct mr_cgroup *group; /* of the machines; NULL: this host has none */
};

/* --- getting ready -------------------------------------------------------------------- */

/* What a guest is told is what it can do by itself. */
static int make_spec(struct job *job, struct mr_error *err)
{
	struct mr_spec *spec = &job->spec;

	mr_spec_copy(spec, &job->opts->errand->spec);
	for (size_t i = 0; i < spec->env_pass.n; i++) {
		const char *value = getenv(spec->env_pass.v[i]);
		mr_auto_free char *text =
			mr_str_format("%s=%s", spec->env_pass.v[i], value ? value : "");
		int r = value ? mr_spec_add_env(spec, text, err) : 0;

		if (r < 0)
			return r;
	}
	mr_strv_clear(&spec->env_pass);
	spec->sandbox_stdin_path[0] = '\0';
	mr_spec_set_number(spec, MR_FIELD_sandbox_backend, MR_BACKEND_NATIVE, MR_ORIGIN_FLAG);
	return 0;
}

/* With a workspace they are chosen here, so that this kernel can show its owner as the payload.  In a
 * user namespace they are the guest's to choose. */
static int choose_ids(struct job *job, struct mr_error *err)
{
	struct mr_spec *spec = &job->spec;
	struct mr_share *share = &job->share;
	int r = spec->sandbox_workspace[0] ? mr_launch_ids(spec, 0, &share->ids, err) : 0;

	share->has_ids = r == 0 && spec->sandbox_workspace[0] && !share->ids.userns;
	if (!share->has_ids)
		return r;
	mr_spec_set_number(spec, MR_FIELD_sandbox_uid, share->ids.uid, MR_ORIGIN_FLAG);
	mr_spec_set_number(spec, MR_FIELD_sandbox_gid, share->ids.gid, MR_ORIGIN_FLAG);
	return 0;
}

static int open_stdin(struct job *job, struct mr_error *err)
{
	const char *path = job->opts->errand->spec.sandbox_stdin_path;

	job->stdin_fd = job->opts->stdin_fd;
	if (!path[0])
		return 0;
	job->stdin_fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	job->own_stdin = job->stdin_fd >= 0;
	return job->own_stdin ? 0 : mr_err(err, MR_E_USAGE, errno, "standard input %s: %m", path);
}

static int find_all(struct job *job, struct mr_error *err)
{
	int r = mr_machine_find(err) ? 0 : -ENOENT;

	if (r == 0)
		r = mr_kernel_find(&job->kernel, err);
	if (r == 0 && !job->kernel.can[MR_SHARE_VIRTIOFS])
		r = mr_err(err, MR_E_KERNEL, ENOENT, "%s has no virtiofs", job->kernel.image);
	if (r == 0)
		r = mr_share_can_virtiofs(err);
	return r;
}

static int share_all(struct job *job, struct mr_error *err)
{
	for (size_t i = 0; i < job->opts->system_paths->n; i++)
		mr_share_add(&job->share, job->opts->system_paths->v[i]);
	mr_share_add(&job->share, job->opts->bin_dir);
	return mr_share_add_spec(&job->share, &job->spec, err);
}

static int make_memfd(const char *name, struct mr_error *err)
{
	int fd = memfd_create(name, MFD_CLOEXEC);

	return fd < 0 ? mr_err(err, MR_E_SYS, errno, "memfd %s: %m", name) : fd;
}

/* A copy: QEMU is nobody, and may not be able to read /boot. */
static int load_kernel(struct job *job, struct mr_error *err)
{
	mr_auto_free char *data = NULL;
	size_t size;
	int r = mr_read_whole_file(job->kernel.image, IMAGE_MAX, &data, &size, err);

	if (r < 0) {
		err->code = MR_E_KERNEL;
		return r;
	}
	job->kernel_fd = make_memfd("kernel", err);
	if (job->kernel_fd < 0)
		return job->kernel_fd;
	r = mr_write_full(job->kernel_fd, data, size);
	return r < 0 ? mr_err(err, MR_E_SYS, -r, "copy the kernel: %m") : 0;
}

static int make_initramfs(struct job *job, struct mr_error *err)
{
	const bool network = job->spec.net_mode != MR_NET_NONE;
	mr_auto_free char *path = mr_str_format("%s/menace-guest", job->opts->bin_dir);
	mr_auto_free char *init = NULL;
	struct mr_cpio cpio;
	size_t size;
	int r = mr_read_whole_file(path, INIT_MAX, &init, &size, err);

	if (r < 0) {
		err->code = MR_E_KERNEL;
		return r;
	}
	job->initramfs_fd = make_memfd("initramfs", err);
	if (job->initramfs_fd < 0)
		return job->initramfs_fd;
	mr_cpio_init(&cpio, job->initramfs_fd);
	mr_cpio_file(&cpio, "init", 0755, init, size);
	r = mr_kernel_pack(&job->kernel, network ? network_modules : no_modules, &cpio, err);
	return r < 0 ? r : mr_cpio_finish(&cpio, err);
}

static int read_boot_limit(struct job *job, struct mr_error *err)
{
	const char *text = getenv(BOOT_VARIABLE);
	int r = 0;

	job->boot_ms = BOOT_MS;
	if (text && text[0])
		r = mr_units_parse_timespan(text, true, &job->boot_ms, err);
	if (r == 0 && (job->boot_ms == 0 || job->boot_ms > ALL_BOOTS_NS / MS))
		r = mr_err(err, MR_E_USAGE, ERANGE, "%s: 1ms to 45s", text);
	return r < 0 ? mr_err_wrap(err, r, BOOT_VARIABLE) : 0;
}

static int get_ready(struct job *job, struct mr_error *err)
{
	int r = read_boot_limit(job, err);

	if (r == 0)
		r = make_spec(job, err);
	if (r == 0)
		r = choose_ids(job, err);
	if (r == 0)
		r = find_all(job, err);
	if (r == 0)
		r = share_all(job, err);
	if (r == 0)
		r = open_stdin(job, err);
	if (r == 0)
		r = load_kernel(job, err);
	if (r == 0)
		r = make_initramfs(job, err);
	return r;
}

static struct job *job_new(const struct mr_qemu_opts *opts)
{
	struct job *job = mr_str_alloc(sizeof(*job));

	job->opts = opts;
	job->kernel_fd = job->initramfs_fd = job->stdin_fd = job->lease_dir = job->lease = -1;
	mr_spec_init(&job->spec);
	return job;
}

static void job_free(struct job *job)
{
	mr_spec_deinit(&job->spec);
	mr_share_deinit(&job->share);
	mr_kernel_deinit(&job->kernel);
	mr_close(job->kernel_fd);
	mr_close(job->initramfs_fd);
	if (job->own_stdin)
		mr_close(job->stdin_fd);
	free(job);
}

int mr_qemu_probe(const struct mr_qemu_opts *opts, json_t **ret_facts, struct mr_error *err)
{
	struct job *job = job_new(opts);
	int r = get_ready(job, err);

	if (r == 0 && ret_facts)
		*ret_facts = json_pack("{s:s, s:s, s:s}", "kernel", job->kernel.image, "share",
				       mr_kernel_share_name(MR_SHARE_VIRTIOFS), "accel",
				       mr_machine_accel_name(mr_accel_choose(-1, "/dev/kvm")));
	job_free(job);
	return r;
}

/* --- attempts ------------------------------------------------------------------------- */

static uint64_t memory_mib(const struct mr_spec *spec)
{
	return GUEST_MIB + (spec->limits_memory_max_bytes == MR_UNLIMITED
				    ? UNLIMITED_MIB
				    : (spec->limits_memory_max_bytes >> 20) + 1);
}

static unsigned int n_cpus(const struct mr_spec *spec)
{
	unsigned int n = (unsigned int)get_nprocs();

	if (spec->limits_cpus != MR_UNLIMITED && (spec->limits_cpus + 999) / 1000 < n)
		n = (unsigned int)((spec->limits_cpus + 999) / 1000);
	return n < CPUS_MAX ? n : CPUS_MAX;
}

/* False: there is no point in another attempt, or no time. */
static bool pause_before_next(const struct job *job, uint64_t until_ns)
{
	struct pollfd pfds[] = { { job->opts->errand->report_fd, 0, 0 },
				 { job->opts->signals_fd, POLLIN, 0 } };
	struct mr_error err = MR_ERROR_INIT;
	struct mr_rand rand;
	uint64_t seed = 0;
	int ms;

	if (job->attempts >= ATTEMPTS || mr_rand_fresh_seed(&seed, &err) < 0)
		return false;
	mr_rand_init(&rand, seed);
	ms = (int)mr_rand_below(&rand, ((uint64_t)PAUSE_BASE_MS << (job->attempts - 1)) + 1);
	if (mr_now_ns() + (uint64_t)ms * 1000000 >= until_ns)
		return false;
	return poll(pfds, N_ELEMENTS(pfds), ms) == 0;
}

/* The lease first: who is killed between the two leaves what the next start sweeps.  A host
 * without control groups has the death signal of both programs instead. */
static int make_group(struct job *job, struct mr_error *err)
{
	const char *id = job->opts->errand->run_id;
	const struct mr_lease_note note = { .program = "menace-qemu", .begin_ns = mr_now_ns() };
	const struct mr_limits limits = {
		.memory_max = (memory_mib(&job->spec) + PROGRAMS_MIB) << 20,
		.swap_max = MR_UNLIMITED,
		.pids_max = PIDS_MAX,
		.cpu_quota_us = MR_UNLIMITED,
	};
	int r = mr_cgroup_detect(&job->groups, err);

	if (r < 0 || mr_cgroup_host_mode(job->groups) == MR_CGROUP_NONE)
		return r;
	r = job->lease_dir = mr_lease_open_dir(err);
	if (r >= 0)
		r = job->lease = mr_lease_take(job->lease_dir, id, job->groups, &note, err);
	return r < 0 ? r : mr_cgroup_new(job->groups, id, &limits, 0, &job->group, err);
}

static void drop_group(struct job *job)
{
	struct mr_error err = MR_ERROR_INIT;
	const char *id = job->opts->errand->run_id;

	if (job->group && mr_cgroup_sweep(job->groups, id, SWEEP_MS, &err) < 0)
		mr_log_warn("control group of the machine: %s", err.msg);
	job->group = mr_cgroup_free(job->group);
	if (job->lease >= 0)
		job->lease = mr_lease_release(job->lease_dir, id, job->lease);
	job->lease_dir = mr_close(job->lease_dir);
	job->groups = mr_cgroup_host_free(job->groups);
}

static uint64_t shortest(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t least = a < b ? a : b;

	return least < c ? least : c;
}

static void run_machines(struct job *job, struct mr_vm_report *report)
{
	const struct mr_qemu_opts *o = job->opts;
	struct mr_vm_opts vm = { .spec = &job->spec,
				 .bin_dir = o->bin_dir,
				 .share = &job->share,
				 .memory_mib = memory_mib(&job->spec),
				 .cpus = n_cpus(&job->spec),
				 .group = job->group,
				 .kernel_fd = job->kernel_fd,
				 .initramfs_fd = job->initramfs_fd,
				 .stdin_fd = job->stdin_fd,
				 .stdout_fd = o->stdout_fd,
				 .stderr_fd = o->stderr_fd,
				 .abandoned_fd = o->errand->report_fd,
				 .signals_fd = o->signals_fd };
	const uint64_t until_ns = mr_now_ns() + ALL_BOOTS_NS;
	mr_auto_close int folder = mr_accel_open_folder();

	for (;;) {
		const uint64_t left_ns = until_ns - mr_now_ns();

		job->accel = vm.accel = mr_accel_choose(folder, "/dev/kvm");
		vm.boot_ns =
			shortest(left_ns, job->boot_ms * MS,
				 vm.accel == MR_ACCEL_KVM ? MR_ACCEL_PROBE_MS * MS : ALL_BOOTS_NS);
		job->attempts++;
		mr_vm_run(&vm, report);
		if (vm.accel == MR_ACCEL_KVM && report->end == MR_VM_FAILED && !report->hello_ns)
			mr_accel_remember_failure(folder);
		if (report->end != MR_VM_FAILED || report->started ||
		    !pause_before_next(job, until_ns))
			return;
		mr_log_info("attempt %u: %s", job->attempts, report->error.msg);
		mr_vm_report_deinit(report);
	}
}

/* --- the result ----------------------------------------------------------------------- */

static json_t *text_or_null(const char *text)
{
	return text[0] ? json_string(text) : json_null();
}

static json_t *span_ms(uint64_t ns)
{
	return ns ? json_integer((json_int_t)(ns / 1000000)) : json_null();
}

static json_t *console_json(const struct mr_vm_report *report)
{
	mr_auto_json json_t *kept = mr_capture_to_json(&report->console);
	static const char *const names[] = { "text", "tail", "base64" };

	for (size_t i = 0; i < N_ELEMENTS(names); i++)
		if (json_is_string(json_object_get(kept, names[i])))
			return json_incref(json_object_get(kept, names[i]));
	return json_null();
}

/* Member "diagnostics": how it went with the machines. */
static json_t *diagnostics_json(const struct job *job, const struct mr_vm_report *report)
{
	const char *error = report->end == MR_VM_WALL ? "timeout" : report->error.msg;
	json_t *status = json_null();

	if (report->has_exit)
		status = WIFEXITED(report->wait_status)
				 ? json_integer(WEXITSTATUS(report->wait_status))
				 : json_integer(-WTERMSIG(report->wait_status));
	return json_pack("{s:s, s:i, s:s, s:o, s:s?, s:o, s:n, s:n, s:o, s:n, s:o, s:o, s:o, s:I, "
			 "s:i}",
			 "backend", "qemu", "attempts", (int)job->attempts, "accel",
			 mr_machine_accel_name(job->accel), "kernel", text_or_null(report->release),
			 "kernel_image", job->kernel.image, "vm_error", text_or_null(error),
			 "docker_error", "local_execution", "qemu_exit", status, "overlay_bytes",
			 "console_tail", console_json(report), "boot_ms", span_ms(report->hello_ns),
			 "ready_ms", span_ms(report->started_ns), "memory_mib",
			 (json_int_t)memory_mib(&job->spec), "cpus", (int)n_cpus(&job->spec));
}

static void put_guest(json_t *result, const struct mr_vm_report *report)
{
	json_t *receipt = json_object_get(result, "receipt");
	json_t *timings = json_object_get(result, "timings");

	json_object_set_new(receipt, "guest",
			    json_pack("{s:o, s:s}", "kernel", text_or_null(report->release), "note",
				      "enforced and measured by the guest's own kernel, and told "
				      "by "
				      "the guest"));
	json_object_set_new(timings, "machine_us",
			    json_integer((json_int_t)(report->started_ns / 1000)));
}

/* A run of which no result came. */
static json_t *own_result(const struct job *job, const struct mr_vm_report *report)
{
	const struct mr_errand *errand = job->opts->errand;
	struct mr_error error = report->error;
	struct mr_document facts = { .spec = &errand->spec,
				     .run_id = errand->run_id,
				     .out = report->started ? &report->out : NULL,
				     .err = report->started ? &report->err : NULL };

	if (report->end == MR_VM_WALL) {
		facts.verdict = mr_verdict_reach(&(struct mr_facts){ .kill = MR_KILL_WALL });
	} else if (report->end == MR_VM_OUTPUT) {
		facts.verdict = mr_verdict_reach(&(struct mr_facts){ .kill = MR_KILL_OUTPUT });
	} else if (report->end == MR_VM_KILLED) {
		facts.verdict = mr_verdict_reach(&(struct mr_facts){ .kill = MR_KILL_USER });
	} else {
		facts.verdict.reason =
			report->started ? MR_REASON_supervisor_lost : MR_REASON_setup_error;
		facts.verdict.exit_status = mr_errc_exit_status(error.code);
		facts.error = &error;
	}
	return mr_document_make(&facts);
}

/* What was read of the input cannot be read again by another backend. */
static void keep_here(json_t *result, const struct mr_vm_report *report)
{
	json_t *error = json_object_get(result, "error");
	const char *code = json_string_value(json_object_get(error, "code"));

	if (report->was_fed && code && strcmp(code, "kernel") == 0)
		json_object_set_new(error, "code", json_string("sys"));
}

static json_t *make_result(const struct job *job, struct mr_vm_report *report)
{
	json_t *result = NULL;

	if (report->end == MR_VM_RESULT &&
	    mr_guest_result(report->result.text, report->result.len, job->opts->errand, &result,
			    &report->error) < 0)
		report->end = MR_VM_FAILED;
	if (result)
		put_guest(result, report);
	else
		result = own_result(job, report);
	keep_here(result, report);
	json_object_set_new(result, "diagnostics", diagnostics_json(job, report));
	return result;
}

json_t *mr_qemu_run(const struct mr_qemu_opts *opts)
{
	struct job *job = job_new(opts);
	struct mr_vm_report report = { .end = MR_VM_FAILED };
	json_t *result = NULL;

	if (get_ready(job, &report.error) == 0 && make_group(job, &report.error) == 0)
		run_machines(job, &report);
	drop_group(job);
	if (report.end != MR_VM_ABANDONED)
		result = make_result(job, &report);
	mr_vm_report_deinit(&report);
	job_free(job);
	return result;
}
