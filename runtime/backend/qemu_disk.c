/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Disk
 *
 * A machine that fails before its agent was heard is tried again, a few times, after a pause
 * (qemu_group.h); a guest without an agent is not, nor is anything after the program may have
 * begun.  Each attempt has a fresh overlay.
 */
#include "runtime/backend/qemu_disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/backend/backend.h"
#include "runtime/backend/document.h"
#include "runtime/backend/qemu_accel.h"
#include "runtime/backend/qemu_agent.h"
#include "runtime/backend/qemu_diagnostics.h"
#include "runtime/backend/qemu_group.h"
#include "runtime/backend/qemu_overlay.h"
#include "runtime/backend/qemu_qcow2.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "runtime/base/patience.h"
#include "runtime/base/str.h"

#define ORDER_MAX (1 << 20)
#define ORDER_SCHEMA "menace.order/1"
#define DEFAULT_CWD "/work" /* a place of our sandboxes, not of a guest's */
#define PROGRAM_MIB 256 /* QEMU's own, beside the guest's memory */

/* All that one errand needs. */
struct job {
	const struct mr_qemu_opts *opts;
	const struct mr_spec *spec;
	char *order;
	int image_fd, overlay_fd;
	struct mr_qcow2_image image;
	uint64_t image_bytes; /* of its file */
	struct mr_machine_group group;
	enum mr_machine_accel accel;
	unsigned int attempts;
	uint64_t overlay_bytes; /* of the last attempt */
	bool is_absent; /* what was asked for is not there: skipped, and no fault */
};

/* --- getting ready -------------------------------------------------------------------- */

/* What no guest of this kind does; the rest of a request is a loss that backends.def tells. */
static const enum mr_backend_need not_done[] = {
	MR_NEED_no_exec,      MR_NEED_policy,	 MR_NEED_record,   MR_NEED_workspace,
	MR_NEED_keep_changes, MR_NEED_hide,	 MR_NEED_root,	   MR_NEED_tty,
	MR_NEED_userns,	      MR_NEED_rw_mount,	 MR_NEED_loopback, MR_NEED_stub,
	MR_NEED_commands,     MR_NEED_allowlist, MR_NEED_net_host, MR_NEED_conditions,
	MR_NEED_failures,     MR_NEED_bytes,
};

static int check_request(const struct job *job, struct mr_error *err)
{
	const struct mr_spec *spec = job->spec;
	const uint64_t needs = mr_backend_needs(spec);
	const char *what = NULL;

	for (size_t i = 0; !what && i < N_ELEMENTS(not_done); i++)
		if (needs >> not_done[i] & 1)
			what = mr_backend_need_text(not_done[i]);
	if (spec->n_mounts > 0)
		what = "a path shown inside (--ro, --tmpfs)";
	if (spec->snippet_path || spec->snippet_code)
		what = "a snippet: name a program of the image's";
	if (spec->sandbox_stdin_path[0])
		what = "sandbox.stdin_path";
	return what ? mr_err(err, MR_E_USAGE, EOPNOTSUPP,
			     "a machine with a disk of its own does not do %s", what)
		    : 0;
}

static json_t *env_json(const struct mr_spec *spec)
{
	json_t *env = json_array();

	for (size_t i = 0; i < spec->env_pass.n; i++) {
		const char *value = getenv(spec->env_pass.v[i]);
		mr_auto_free char *text =
			mr_str_format("%s=%s", spec->env_pass.v[i], value ? value : "");

		if (value)
			json_array_append_new(env, json_string(text));
	}
	for (size_t i = 0; i < spec->env.n; i++)
		json_array_append_new(env, json_string(spec->env.v[i]));
	return env;
}

static int make_order(struct job *job, struct mr_error *err)
{
	const struct mr_spec *spec = job->spec;
	const bool has_cwd = strcmp(spec->sandbox_cwd, DEFAULT_CWD) != 0;
	json_t *argv = json_array();
	mr_auto_json json_t *order = NULL;

	for (size_t i = 0; i < spec->argv.n; i++)
		json_array_append_new(argv, json_string(spec->argv.v[i]));
	order = json_pack("{s:s, s:o, s:o, s:s?, s:I}", "schema", ORDER_SCHEMA, "argv", argv, "env",
			  env_json(spec), "cwd", has_cwd ? spec->sandbox_cwd : NULL, "time_ns",
			  (json_int_t)mr_clock_ns(MR_CLOCK_REAL));
	mr_assert(order);
	job->order = json_dumps(order, JSON_COMPACT);
	mr_assert(job->order);
	return strlen(job->order) <= ORDER_MAX
		       ? 0
		       : mr_err(err, MR_E_USAGE, E2BIG,
				"arguments and variables of more than %d bytes", ORDER_MAX);
}

/* A fifo must not be waited for, nor a terminal taken. */
static int open_image(struct job *job, struct mr_error *err)
{
	static const char *const words[] = { MR_WORDS_os };
	const char *path = mr_spec_vm_image(job->spec);
	struct stat st;
	int r;

	job->is_absent = path[0] == '\0';
	if (job->is_absent)
		return mr_err(err, MR_E_SYS, ENOENT,
			      "image missing: the system is %s, and no image of it is named "
			      "(VM_SETTINGS: %s_image, sandbox.vm_%s_image)",
			      words[job->spec->sandbox_os], words[job->spec->sandbox_os],
			      words[job->spec->sandbox_os]);
	job->image_fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	job->is_absent = job->image_fd < 0 && errno == ENOENT;
	if (job->image_fd < 0)
		return mr_err(err, MR_E_SYS, errno, "%s%s: %m",
			      job->is_absent ? "image missing: " : "image ", path);
	r = mr_qcow2_judge(job->image_fd, &job->image, err);
	if (r == 0 && fstat(job->image_fd, &st) == 0)
		job->image_bytes = (uint64_t)st.st_size;
	return r < 0 ? mr_err_wrap(err, r, "image %s refused", path) : 0;
}

static int find_qemu(struct job *job, struct mr_error *err)
{
	if (mr_machine_find(err))
		return 0;
	job->is_absent = true;
	err->code = MR_E_SYS; /* no other backend can do it */
	return -ENOENT;
}

static int make_overlay(struct job *job, struct mr_error *err)
{
	int r;

	job->overlay_fd = mr_close(job->overlay_fd);
	job->overlay_fd = mr_overlay_open(err);
	if (job->overlay_fd < 0)
		return job->overlay_fd;
	r = mr_qcow2_write_layer(job->overlay_fd, job->image.disk_bytes, err);
	return r < 0 ? mr_err_wrap(err, r, "overlay") : 0;
}

static int get_ready(struct job *job, struct mr_error *err)
{
	int r = check_request(job, err);

	if (r == 0)
		r = make_order(job, err);
	if (r == 0)
		r = open_image(job, err);
	if (r == 0)
		r = find_qemu(job, err);
	return r;
}

static struct job *job_new(const struct mr_qemu_opts *opts)
{
	struct job *job = mr_str_alloc(sizeof(*job));

	job->opts = opts;
	job->spec = &opts->errand->spec;
	job->image_fd = job->overlay_fd = -1;
	job->group = (struct mr_machine_group)MR_MACHINE_GROUP_INIT;
	return job;
}

static void job_free(struct job *job)
{
	mr_close(job->image_fd);
	mr_close(job->overlay_fd);
	free(job->order);
	free(job);
}

int mr_disk_probe(const struct mr_qemu_opts *opts, json_t **ret_facts, struct mr_error *err)
{
	struct job *job = job_new(opts);
	int r = get_ready(job, err);

	if (r == 0 && ret_facts)
		*ret_facts = json_pack("{s:s, s:s, s:I}", "image", mr_spec_vm_image(job->spec),
				       "format", job->image.format, "disk_bytes",
				       (json_int_t)job->image.disk_bytes);
	job_free(job);
	return r;
}

/* --- attempts ------------------------------------------------------------------------- */

static uint64_t memory_mib(const struct mr_spec *spec)
{
	return spec->sandbox_vm_memory_bytes >> 20;
}

static uint64_t cpu_quota_us(const struct mr_spec *spec)
{
	return spec->limits_cpus == MR_UNLIMITED ? MR_UNLIMITED
						 : spec->limits_cpus * MR_GROUP_PERIOD_US / 1000;
}

/* With its tables; 0: no limit. */
static uint64_t overlay_max(const struct mr_spec *spec)
{
	return spec->limits_disk_bytes == MR_UNLIMITED
		       ? 0
		       : spec->limits_disk_bytes + MR_QCOW2_LAYER_BYTES;
}

static void try_once(struct job *job, struct mr_accel_trial *trial, struct mr_agent_report *report)
{
	const struct mr_qemu_opts *o = job->opts;
	struct mr_agent_opts agent = {
		.errand = o->errand,
		.spec = job->spec,
		.order = job->order,
		.machine = { .memory_mib = memory_mib(job->spec),
			     .cpus = mr_machine_cpus(job->spec),
			     .has_screen = job->spec->sandbox_os != MR_OS_LINUX,
			     .image_fd = job->image_fd,
			     .image_format = job->image.format,
			     .overlay_fd = job->overlay_fd,
			     .overlay_max_bytes = overlay_max(job->spec) },
		.group = job->group.group,
		.stdout_fd = o->stdout_fd,
		.stderr_fd = o->stderr_fd,
		.signals_fd = o->signals_fd,
	};

	agent.machine.accel = job->accel = mr_accel_next(trial);
	agent.firmware_ns = job->accel == MR_ACCEL_KVM ? MR_PATIENCE_NS(QEMU_ACCEL) : 0;
	mr_agent_run(&agent, report);
	job->overlay_bytes = mr_overlay_bytes(job->overlay_fd);
	if (report->is_mute)
		mr_accel_note_mute(trial, job->accel, report->error.msg);
	if (report->greeted_ns || mr_capture_total(&report->console) > 0)
		mr_accel_note_up(trial, job->accel);
}

static void run_machines(struct job *job, struct mr_agent_report *report)
{
	const struct mr_qemu_opts *o = job->opts;
	const uint64_t until_ns = mr_now_ns() + MR_PATIENCE_NS(QEMU_ALL);
	mr_auto_close int folder = mr_accel_open_folder();
	struct mr_accel_trial trial = { .folder = folder, .device = "/dev/kvm" };

	for (;;) {
		if (make_overlay(job, &report->error) < 0)
			return;
		job->attempts++;
		try_once(job, &trial, report);
		if (report->end != MR_AGENT_FAILED || report->greeted_ns)
			return;
		if (!mr_machine_pause(job->attempts, o->errand->report_fd, o->signals_fd, until_ns,
				      &report->user_signal)) {
			if (report->user_signal)
				report->end = MR_AGENT_KILLED;
			return;
		}
		mr_log_info("attempt %u: %s", job->attempts, report->error.msg);
		mr_agent_report_deinit(report);
		*report = (struct mr_agent_report){ .end = MR_AGENT_FAILED };
	}
}

/* --- the result ----------------------------------------------------------------------- */

/* Member "diagnostics": how it went with the machines. */
static json_t *diagnostics_json(const struct job *job, const struct mr_agent_report *report)
{
	static const char *const words[] = { MR_WORDS_os };
	const char *error = report->end == MR_AGENT_WALL ? "timeout" : report->error.msg;
	const char *image = mr_spec_vm_image(job->spec);

	return json_pack("{s:s, s:i, s:s?, s:s, s:s?, s:s?, s:s?, s:n, s:n, s:o, s:I, s:o, s:o, "
			 "s:o, s:I, s:i}",
			 "backend", "qemu", "attempts", (int)job->attempts, "accel",
			 job->attempts ? mr_machine_accel_name(job->accel) : NULL, "os",
			 words[job->spec->sandbox_os], "image", image[0] ? image : NULL,
			 "image_format", job->image.format, "vm_error", error[0] ? error : NULL,
			 "docker_error", "local_execution", "qemu_exit",
			 mr_machine_exit_json(report->has_exit, report->qemu_status),
			 "overlay_bytes", (json_int_t)job->overlay_bytes, "console_tail",
			 mr_machine_console_json(&report->console), "agent_ms",
			 mr_machine_span_json(report->greeted_ns), "ready_ms",
			 mr_machine_span_json(report->started_ns), "memory_mib",
			 (json_int_t)memory_mib(job->spec), "cpus",
			 (int)mr_machine_cpus(job->spec));
}

static bool is_disk_full(const struct job *job)
{
	const uint64_t max = overlay_max(job->spec);
	struct stat st;

	return max > 0 && job->overlay_fd >= 0 && fstat(job->overlay_fd, &st) == 0 &&
	       (uint64_t)st.st_size + MR_QCOW2_LAYER_BYTES / 4 > max;
}

static struct mr_verdict reach_verdict(const struct job *job, const struct mr_agent_report *report)
{
	struct mr_facts facts = { .user_signal = report->user_signal,
				  .main_ended = report->end == MR_AGENT_RESULT,
				  .wait_status = report->wait_status,
				  .disk_full = is_disk_full(job),
				  .output_lost = report->output_lost };
	struct mr_verdict own = { .exit_status = mr_errc_exit_status(report->error.code) };

	switch (report->end) {
	case MR_AGENT_NONE:
	case MR_AGENT_FAILED:
		own.reason = report->started ? MR_REASON_supervisor_lost : MR_REASON_setup_error;
		if (report->end == MR_AGENT_NONE || job->is_absent)
			own.reason = MR_REASON_skipped;
		return own;
	case MR_AGENT_WALL:
		facts.kill = MR_KILL_WALL;
		break;
	case MR_AGENT_OUTPUT:
		facts.kill = MR_KILL_OUTPUT;
		break;
	case MR_AGENT_KILLED:
		facts.kill = MR_KILL_USER;
		break;
	case MR_AGENT_RESULT:
	case MR_AGENT_ABANDONED:
		break;
	}
	return mr_verdict_reach(&facts);
}

static void put_guest(json_t *result, const struct mr_agent_report *report)
{
	json_object_set_new(json_object_get(result, "receipt"), "guest",
			    json_pack("{s:n, s:s}", "kernel", "note",
				      "told by the agent of the image, and measured by nobody"));
	json_object_set_new(json_object_get(result, "timings"), "machine_us",
			    json_integer((json_int_t)(report->started_ns / 1000)));
}

static json_t *make_result(const struct job *job, const struct mr_agent_report *report)
{
	struct mr_error error = report->error;
	const struct mr_document facts = {
		.spec = job->spec,
		.run_id = job->opts->errand->run_id,
		.verdict = reach_verdict(job, report),
		.error = error.code ? &error : NULL,
		.out = report->started ? &report->out : NULL,
		.err = report->started ? &report->err : NULL,
	};
	json_t *result = mr_document_make(&facts);

	if (report->started)
		put_guest(result, report);
	json_object_set_new(result, "diagnostics", diagnostics_json(job, report));
	return result;
}

json_t *mr_disk_run(const struct mr_qemu_opts *opts)
{
	struct job *job = job_new(opts);
	struct mr_agent_report report = { .end = MR_AGENT_FAILED };
	json_t *result = NULL;

	if (get_ready(job, &report.error) == 0 &&
	    mr_machine_group_make(&job->group, opts->errand->run_id,
				  (memory_mib(job->spec) + PROGRAM_MIB) << 20,
				  cpu_quota_us(job->spec), &report.error) == 0)
		run_machines(job, &report);
	mr_machine_group_drop(&job->group);
	if (report.end != MR_AGENT_ABANDONED)
		result = make_result(job, &report);
	mr_agent_report_deinit(&report);
	job_free(job);
	return result;
}
