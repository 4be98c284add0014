/* SPDX-License-Identifier: Apache-2.0 */
/*
 * QEMU
 *
 * A machine that does not come up is tried again, a few times, after a pause (qemu_group.h).  What
 * is missing is not tried again, nor is anything after the payload may have begun.  A run that
 * wants a disk of its own is qemu_disk.c's.
 */
#include "runtime/backend/qemu.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/backend/document.h"
#include "runtime/backend/qemu_accel.h"
#include "runtime/backend/qemu_cpio.h"
#include "runtime/backend/qemu_diagnostics.h"
#include "runtime/backend/qemu_group.h"
#include "runtime/backend/qemu_kernel.h"
#include "runtime/backend/qemu_restore.h"
#include "runtime/backend/qemu_result.h"
#include "runtime/backend/qemu_template.h"
#include "runtime/backend/qemu_tsc.h"
#include "runtime/backend/qemu_vm.h"
#include "runtime/backend/qemu_vmlinux.h"
#include "runtime/base/buf.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/hash.h"
#include "runtime/base/io.h"
#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "runtime/base/patience.h"
#include "runtime/base/str.h"
#include "runtime/base/units.h"

#define BOOT_VARIABLE "MENACE_QEMU_BOOT_TIMEOUT"
#define TEMPLATE_VARIABLE "MENACE_QEMU_TEMPLATE" /* a flag, on without it */
#define IMAGE_MAX (256 << 20)
#define PROGRAM_MAX (64 << 20)
#define GUEST_MIB 320 /* for the kernel and the supervisor inside */
#define UNLIMITED_MIB 2048
#define LEAST_MIB 128
#define PROGRAMS_MIB 256 /* QEMU's and virtiofsd's own, beside the guest's memory */
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
	int kernel_fd, initramfs_fd;
	enum mr_machine_accel accel;
	struct mr_tsc_mark begin;
	uint64_t tsc_khz; /* 0: not known yet, or at all */
	uint64_t boot_ms;
	unsigned int attempts;
	bool wants_template;
	struct mr_template template;
	char key[MR_HASH_HEX_SIZE]; /* of it */
	bool lacks_images; /* what a machine boots from cannot be had */
	bool restored; /* the last machine was */
	struct mr_error cold; /* why the last one was not */
	struct mr_machine_group group; /* of the machines */
};

/* --- getting ready -------------------------------------------------------------------- */

/* What a guest is told is what it can do by itself. */
static int make_spec(struct job *job, struct mr_error *err)
{
	struct mr_spec *spec = &job->spec;

	mr_spec_deinit(spec);
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
	spec->sandbox_stdin_path[0] = '\0'; /* whoever sent the errand has opened it */
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

/* The image as it is. */
static int copy_image(int fd, const char *data, size_t size, struct mr_error *err)
{
	int r = ftruncate(fd, 0) < 0 ? -errno : mr_write_full(fd, data, size);

	return r < 0 ? mr_err(err, MR_E_SYS, -r, "copy the kernel: %m") : 0;
}

/* A copy: QEMU is nobody, and may not be able to read /boot.  Where the processor is emulated, it is spared
 * the unpacking, if that can be done here. */
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
	r = job->accel == MR_ACCEL_TCG ? mr_vmlinux_unpack(data, size, job->kernel_fd, err) : 1;
	return r > 0 ? copy_image(job->kernel_fd, data, size, err) : r;
}

static int pack_program(const struct job *job, const char *program, const char *name,
			struct mr_cpio *cpio, struct mr_error *err)
{
	mr_auto_free char *path = mr_str_format("%s/%s", job->opts->bin_dir, program);
	mr_auto_free char *data = NULL;
	size_t size;
	int r = mr_read_whole_file(path, PROGRAM_MAX, &data, &size, err);

	if (r < 0) {
		err->code = MR_E_KERNEL;
		return r;
	}
	mr_cpio_file(cpio, name, 0755, data, size);
	return 0;
}

static int make_initramfs(struct job *job, struct mr_error *err)
{
	const bool network = job->spec.net_mode != MR_NET_NONE;
	struct mr_cpio cpio;
	int r = 0;

	job->initramfs_fd = make_memfd("initramfs", err);
	if (job->initramfs_fd < 0)
		return job->initramfs_fd;
	mr_cpio_init(&cpio, job->initramfs_fd);
	r = pack_program(job, "menace-guest", "init", &cpio, err);
	if (r == 0)
		r = pack_program(job, MR_MACHINE_LOADER, MR_MACHINE_LOADER, &cpio, err);
	if (r == 0)
		r = mr_kernel_pack(&job->kernel, network ? network_modules : no_modules, &cpio,
				   err);
	return r < 0 ? r : mr_cpio_finish(&cpio, err);
}

static int read_boot_limit(struct job *job, struct mr_error *err)
{
	const char *text = getenv(BOOT_VARIABLE);
	int r = 0;

	job->boot_ms = MR_PATIENCE_MS(QEMU_BOOT);
	if (text && text[0])
		r = mr_units_parse_timespan(text, true, &job->boot_ms, err);
	if (r == 0 && (job->boot_ms == 0 || job->boot_ms > MR_PATIENCE_NS(QEMU_ALL) / MS))
		r = mr_err(err, MR_E_USAGE, ERANGE, "%s: 1ms to 45s", text);
	return r < 0 ? mr_err_wrap(err, r, BOOT_VARIABLE) : 0;
}

static int read_template_wish(struct job *job, struct mr_error *err)
{
	const char *text = getenv(TEMPLATE_VARIABLE);
	int r = 0;

	job->wants_template = true;
	if (text && text[0])
		r = mr_units_parse_flag(text, &job->wants_template, err);
	return r < 0 ? mr_err_wrap(err, r, TEMPLATE_VARIABLE) : 0;
}

static int get_ready(struct job *job, struct mr_error *err)
{
	int r = read_boot_limit(job, err);

	if (r == 0)
		r = read_template_wish(job, err);
	if (r == 0)
		r = make_spec(job, err);
	if (r == 0)
		r = choose_ids(job, err);
	if (r == 0)
		r = find_all(job, err);
	if (r == 0)
		r = share_all(job, err);
	return r;
}

/* What a machine boots from; a restored one needs none of it, and reading it takes longer than much else. */
static int load_images(struct job *job, struct mr_error *err)
{
	int r = job->kernel_fd >= 0 ? 0 : load_kernel(job, err);
	struct mr_tsc_mark now;

	if (r == 0 && job->initramfs_fd < 0)
		r = make_initramfs(job, err);
	if (r < 0)
		job->lacks_images = true;
	mr_tsc_mark(&now);
	job->tsc_khz = mr_tsc_khz(&job->begin, &now);
	return r;
}

static struct job *job_new(const struct mr_qemu_opts *opts)
{
	struct job *job = mr_str_alloc(sizeof(*job));

	job->opts = opts;
	mr_tsc_mark(&job->begin);
	job->kernel_fd = job->initramfs_fd = -1;
	job->group = (struct mr_machine_group)MR_MACHINE_GROUP_INIT;
	job->template = (struct mr_template)MR_TEMPLATE_INIT;
	mr_spec_init(&job->spec);
	return job;
}

static void job_free(struct job *job)
{
	mr_spec_deinit(&job->spec);
	mr_share_deinit(&job->share);
	mr_kernel_deinit(&job->kernel);
	mr_template_close(&job->template);
	mr_close(job->kernel_fd);
	mr_close(job->initramfs_fd);
	free(job);
}

int mr_qemu_probe(const struct mr_qemu_opts *opts, json_t **ret_facts, struct mr_error *err)
{
	struct job *job = job_new(opts);
	int r = get_ready(job, err);

	if (r == 0)
		r = load_images(job, err);
	if (r == 0 && ret_facts)
		*ret_facts = json_pack("{s:s, s:s, s:s}", "kernel", job->kernel.image, "share",
				       mr_kernel_share_name(MR_SHARE_VIRTIOFS), "accel",
				       mr_machine_accel_name(mr_accel_choose(-1, "/dev/kvm")));
	job_free(job);
	return r;
}

/* --- attempts ------------------------------------------------------------------------- */

/* Up to the next power of two, so that few templates serve many runs; what the payload may use of
 * it is the guest's control group's to say. */
static uint64_t memory_mib(const struct mr_spec *spec)
{
	const uint64_t asked = ((spec->limits_memory_max_bytes - 1) >> 20) + 1;
	uint64_t mib = LEAST_MIB;

	if (spec->limits_memory_max_bytes == MR_UNLIMITED)
		return GUEST_MIB + UNLIMITED_MIB;
	while (mib < asked && mib < UNLIMITED_MIB)
		mib *= 2;
	return GUEST_MIB + (mib < asked ? asked : mib);
}

/* Emulated, one processor is faster than two for whatever runs one program after the other: no waits
 * for the other's ticks, and no code that is translated once more for two. */
static unsigned int cpus(const struct job *job)
{
	return job->accel == MR_ACCEL_TCG && job->spec.limits_cpus == MR_UNLIMITED
		       ? 1
		       : mr_machine_cpus(&job->spec);
}

static uint64_t shorter(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* All that goes into a machine before its run, and when this host was booted. */
static void name_template(struct job *job)
{
	struct mr_error ignored = MR_ERROR_INIT; /* get_ready() found them all */
	mr_auto_free char *guest = mr_str_format("%s/menace-guest", job->opts->bin_dir);
	mr_auto_free char *modules = mr_str_format("%s/modules.dep", job->kernel.modules);
	mr_auto_free char *loader = mr_str_format("%s/" MR_MACHINE_LOADER, job->opts->bin_dir);
	const char *const files[] = {
		mr_machine_find(&ignored), job->kernel.image, modules, guest, loader,
		"/proc/self/exe"
	};
	char boot[64] = "";
	struct mr_buf text = { 0 };

	mr_read_file_at(AT_FDCWD, "/proc/sys/kernel/random/boot_id", boot, sizeof(boot));
	mr_buf_printf(&text, "%s %u MiB %u cpus network %d %s", mr_machine_accel_name(job->accel),
		      (unsigned int)memory_mib(&job->spec), cpus(job),
		      job->spec.net_mode != MR_NET_NONE, boot);
	for (size_t i = 0; i < N_ELEMENTS(files); i++) {
		struct stat st = { 0 };

		if (files[i] && stat(files[i], &st) == 0)
			mr_buf_printf(&text, "%s %llx %llu %llu %lld.%09ld\n", files[i],
				      (unsigned long long)st.st_dev, (unsigned long long)st.st_ino,
				      (unsigned long long)st.st_size, (long long)st.st_ctim.tv_sec,
				      st.st_ctim.tv_nsec);
	}
	mr_hash_hex(text.text, text.len, job->key);
	mr_buf_deinit(&text);
}

/* Whoever does not get the lock does not wait for it. */
static int make_template(struct job *job, int folder, uint64_t until_ns, struct mr_error *err)
{
	struct mr_restore_make_opts opts = { .accel = job->accel,
					     .memory_mib = memory_mib(&job->spec),
					     .cpus = cpus(job),
					     .group = job->group.group,
					     .abandoned_fd = job->opts->errand->report_fd,
					     .signals_fd = job->opts->signals_fd,
					     .until_ns = until_ns };
	struct mr_template made = MR_TEMPLATE_INIT;
	mr_auto_close int lock = -1;
	int r = mr_template_check_room(folder, err);

	if (r == 0)
		r = mr_template_lock(folder, &lock, err);
	if (r > 0)
		return mr_err(err, MR_E_KERNEL, EBUSY, "another run is making the template");
	if (r == 0)
		r = load_images(job, err);
	opts.kernel_fd = job->kernel_fd;
	opts.initramfs_fd = job->initramfs_fd;
	opts.tsc_khz = job->tsc_khz;
	if (r == 0)
		r = mr_template_new(&made, opts.memory_mib << 20, err);
	if (r == 0)
		r = mr_restore_make(&opts, &made, err);
	if (r == 0)
		r = mr_template_keep(folder, job->key, &made, err);
	if (r < 0)
		mr_err_wrap(err, r, "make the template of a machine");
	mr_template_close(&made);
	return r;
}

static int renew_template(struct job *job, int folder, uint64_t until_ns, struct mr_error *err)
{
	int r = make_template(job, folder, until_ns, err);

	if (r == 0)
		r = mr_template_open(folder, job->key, memory_mib(&job->spec) << 20, &job->template,
				     err);
	return r > 0 ? mr_err(err, MR_E_KERNEL, ENOENT, "the template is gone again") : r;
}

/* Negative: boot, for the reason in err. */
static int find_template(struct job *job, int folder, uint64_t until_ns, struct mr_error *err)
{
	int r;

	if (!job->wants_template)
		return mr_err(err, MR_E_KERNEL, ECANCELED, TEMPLATE_VARIABLE " says so");
	if (job->accel == MR_ACCEL_KVM)
		return mr_err(err, MR_E_KERNEL, ECANCELED, "with KVM every machine boots");
	if (folder < 0)
		return mr_err(err, MR_E_KERNEL, ENOENT, "there is no folder for templates");
	name_template(job);
	r = mr_template_open(folder, job->key, memory_mib(&job->spec) << 20, &job->template, err);
	if (r < 0)
		mr_log_warn("%s: it is made anew", err->msg);
	return r == 0 ? 0 : renew_template(job, folder, until_ns, err);
}

static bool is_wanted(const struct mr_vm_report *report)
{
	return report->end == MR_VM_FAILED && !report->started;
}

/* How long the next machine of this attempt may take to come up. */
static uint64_t boot_limit(const struct job *job, uint64_t until_ns)
{
	const uint64_t now = mr_now_ns(), left_ns = until_ns > now ? until_ns - now : MS;

	return shorter(left_ns, job->boot_ms * MS);
}

static void boot_machine(struct job *job, struct mr_vm_opts *vm, uint64_t until_ns,
			 struct mr_vm_report *report)
{
	*report = (struct mr_vm_report){ .end = MR_VM_FAILED };
	if (load_images(job, &report->error) < 0)
		return;
	vm->kernel_fd = job->kernel_fd;
	vm->initramfs_fd = job->initramfs_fd;
	vm->tsc_khz = job->tsc_khz;
	vm->boot_ns = boot_limit(job, until_ns);
	mr_vm_run(vm, report);
}

static void restore_machine(struct job *job, struct mr_vm_opts *vm, uint64_t until_ns,
			    struct mr_vm_report *report)
{
	vm->boot_ns = boot_limit(job, until_ns);
	vm->template = &job->template;
	mr_vm_run(vm, report);
	vm->template = NULL;
	mr_template_close(&job->template);
}

/* Its damage was seen when the machine was started already: from another it is as good as new. */
static void restore_again(struct job *job, struct mr_vm_opts *vm, int folder, uint64_t make_ns,
			  uint64_t until_ns, struct mr_vm_report *report)
{
	mr_log_warn("%s: it is made anew", report->error.msg);
	mr_template_throw_away(folder, job->key);
	job->restored = renew_template(job, folder, make_ns, &job->cold) == 0;
	if (!job->restored)
		return;
	mr_vm_report_deinit(report);
	restore_machine(job, vm, until_ns, report);
}

/* One machine: restored, where that can be.  Of the time that is left, half is for the making of a
 * template, which does more than boot: then the other half does for a machine that boots. */
static void run_machine(struct job *job, struct mr_vm_opts *vm, int folder, uint64_t until_ns,
			struct mr_vm_report *report)
{
	const uint64_t now = mr_now_ns(), half_ns = until_ns > now ? (until_ns - now) / 2 : 0;
	const uint64_t make_ns = now + shorter(half_ns, job->boot_ms * MS);

	vm->accel = job->accel;
	vm->cpus = cpus(job);
	vm->hello_ns = job->accel == MR_ACCEL_KVM ? MR_PATIENCE_NS(QEMU_ACCEL) : 0;
	job->restored = !job->cold.code && find_template(job, folder, make_ns, &job->cold) == 0;
	if (job->restored)
		restore_machine(job, vm, until_ns, report);
	if (job->restored && report->is_template_bad)
		restore_again(job, vm, folder, make_ns, until_ns, report);
	if (job->restored) {
		if (!is_wanted(report))
			return;
		mr_err(&job->cold, report->error.code, report->error.errnum,
		       "the restored machine did not come up: %.300s", report->error.msg);
		mr_template_throw_away(folder, job->key);
		mr_vm_report_deinit(report);
	}
	mr_log_info("the machine boots: %s", job->cold.msg);
	job->restored = false;
	boot_machine(job, vm, until_ns, report);
}

static void run_machines(struct job *job, struct mr_vm_report *report)
{
	const struct mr_qemu_opts *o = job->opts;
	struct mr_vm_opts vm = { .errand = o->errand,
				 .spec = &job->spec,
				 .bin_dir = o->bin_dir,
				 .share = &job->share,
				 .memory_mib = memory_mib(&job->spec),
				 .group = job->group.group,
				 .kernel_fd = -1,
				 .initramfs_fd = -1,
				 .stdin_fd = o->stdin_fd,
				 .stdout_fd = o->stdout_fd,
				 .stderr_fd = o->stderr_fd,
				 .signals_fd = o->signals_fd };
	const uint64_t until_ns = mr_now_ns() + MR_PATIENCE_NS(QEMU_ALL);
	mr_auto_close int folder = mr_accel_open_folder();
	struct mr_accel_trial trial = { .folder = folder, .device = "/dev/kvm" };

	for (;;) {
		job->accel = mr_accel_next(&trial);
		job->attempts++;
		run_machine(job, &vm, folder, until_ns, report);
		if (report->is_mute)
			mr_accel_note_mute(&trial, job->accel, report->error.msg);
		if (report->started)
			mr_accel_note_up(&trial, job->accel);
		if (!is_wanted(report) || job->lacks_images)
			return;
		if (!mr_machine_pause(job->attempts, o->errand->report_fd, o->signals_fd, until_ns,
				      &report->user_signal)) {
			if (report->user_signal)
				report->end = MR_VM_KILLED;
			return;
		}
		mr_log_info("attempt %u: %s", job->attempts, report->error.msg);
		mr_vm_report_deinit(report);
	}
}

/* --- the result ----------------------------------------------------------------------- */

static json_t *text_or_null(const char *text)
{
	return text[0] ? json_string(text) : json_null();
}

/* Why the machine was booted. */
static json_t *cold_json(const struct job *job)
{
	return job->restored ? json_null() : text_or_null(job->cold.msg);
}

/* Member "diagnostics": how it went with the machines. */
static json_t *diagnostics_json(const struct job *job, const struct mr_vm_report *report)
{
	const char *error = report->end == MR_VM_WALL ? "timeout" : report->error.msg;

	return json_pack("{s:s, s:i, s:s, s:o, s:s?, s:o, s:n, s:n, s:o, s:n, s:o, s:o, s:o, s:I, "
			 "s:i, s:s, s:o}",
			 "backend", "qemu", "attempts", (int)job->attempts, "accel",
			 mr_machine_accel_name(job->accel), "kernel", text_or_null(report->release),
			 "kernel_image", job->kernel.image, "vm_error", text_or_null(error),
			 "docker_error", "local_execution", "qemu_exit",
			 mr_machine_exit_json(report->has_exit, report->wait_status),
			 "overlay_bytes", "console_tail", mr_machine_console_json(&report->console),
			 "boot_ms", mr_machine_span_json(report->hello_ns), "ready_ms",
			 mr_machine_span_json(report->started_ns), "memory_mib",
			 (json_int_t)memory_mib(&job->spec), "cpus", (int)cpus(job), "start",
			 job->restored ? "restored" : "cold", "cold_why", cold_json(job));
}

/* The guest cannot know of a stream of the caller's that failed. */
static void put_loss(json_t *result, const struct mr_vm_report *report)
{
	json_t *end = json_object_get(result, "exit");

	if (report->output_lost && json_integer_value(json_object_get(end, "status")) == 0)
		json_object_set_new(end, "status", json_integer(mr_errc_exit_status(MR_E_SYS)));
}

static void put_guest(const struct job *job, json_t *result, const struct mr_vm_report *report)
{
	json_t *receipt = json_object_get(result, "receipt");
	json_t *timings = json_object_get(result, "timings");

	json_object_set_new(receipt, "guest",
			    json_pack("{s:o, s:s, s:s, s:o}", "kernel",
				      text_or_null(report->release), "note",
				      "enforced and measured by the guest's own kernel, and told "
				      "by "
				      "the guest",
				      "start", job->restored ? "restored" : "cold", "cold_why",
				      cold_json(job)));
	json_object_set_new(timings, "machine_us",
			    json_integer((json_int_t)(report->started_ns / 1000)));
	put_loss(result, report);
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
		facts.verdict = mr_verdict_reach(&(struct mr_facts){
			.kill = MR_KILL_USER, .user_signal = report->user_signal });
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

/* What nothing came of has no output: who says so all the same would have it done again. */
static int judge_beginning(const json_t *result, const struct mr_vm_report *report,
			   struct mr_error *err)
{
	const uint64_t bytes = mr_capture_total(&report->out) + mr_capture_total(&report->err);

	if (bytes == 0 || !mr_document_not_begun(mr_json_text_or_empty(result, "reason")))
		return 0;
	return mr_err(err, MR_E_PROTO, EPROTO,
		      "the guest's result says that nothing began, after %" PRIu64
		      " bytes of output",
		      bytes);
}

static json_t *read_result(const struct job *job, const struct mr_vm_report *report,
			   struct mr_error *err)
{
	mr_auto_json json_t *result = NULL;
	int r = mr_guest_result(report->result.text, report->result.len, job->opts->errand, &result,
				err);

	if (r == 0)
		r = judge_beginning(result, report, err);
	return r < 0 ? NULL : mr_take_ptr(result);
}

static json_t *make_result(const struct job *job, struct mr_vm_report *report)
{
	json_t *result = NULL;

	if (report->end == MR_VM_RESULT) {
		result = read_result(job, report, &report->error);
		if (!result)
			report->end = MR_VM_FAILED;
	}
	if (result)
		put_guest(job, result, report);
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

	if (get_ready(job, &report.error) == 0 &&
	    mr_machine_group_make(&job->group, opts->errand->run_id,
				  (memory_mib(&job->spec) + PROGRAMS_MIB) << 20, MR_UNLIMITED,
				  &report.error) == 0)
		run_machines(job, &report);
	mr_machine_group_drop(&job->group);
	if (report.end != MR_VM_ABANDONED)
		result = make_result(job, &report);
	mr_vm_report_deinit(&report);
	job_free(job);
	return result;
}
