/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Result, schema "menace.result/1"
 *
 * Facts are collected once, when the run is over and its group and file systems
 * still exist, the changes of its workspace last; the document is made from them.  A number nobody measured is null,
 * with a reason beside it where the reason is not plain.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "runtime/base/text.h"
#include "runtime/supervise/datagrams.h"
#include "runtime/supervise/links.h"
#include "runtime/supervise/network.h"
#include "runtime/supervise/state.h"
#include "runtime/supervise/trail.h"
#include "runtime/supervise/unseen.h"
#include "runtime/supervise/walk.h"

int mr_result_open_keep(struct mr_run *run, struct mr_error *err)
{
	const char *path = run->spec->sandbox_keep_changes;
	mr_auto_closedir DIR *dir = NULL;

	if (!path[0])
		return 0;
	run->keep_fd = mr_links_make_folder(run->spec, path, err);
	if (run->keep_fd < 0)
		return mr_err_wrap(err, run->keep_fd, "keep changes");
	dir = mr_walk_opendir(run->keep_fd, MR_WALK_AS_IS);
	if (dir && mr_walk_next(dir))
		return mr_err(err, MR_E_USAGE, ENOTEMPTY, "keep changes: %s is not empty", path);
	return dir && errno == 0 ? 0
				 : mr_err(err, MR_E_SYS, errno, "keep changes: list %s: %m", path);
}

static void read_changes(struct mr_run *run, struct mr_turns *turns)
{
	struct mr_changes_opts opts = MR_CHANGES_OPTS_INIT;
	struct mr_keep_opts keep = MR_KEEP_OPTS_INIT;

	if (run->upper_fd < 0)
		return;
	opts.userxattr = keep.userxattr = run->launched.ids.userns;
	opts.turns = keep.turns = turns;
	if (mr_changes_scan(run->upper_fd, run->lower_fd, &opts, &run->changes,
			    &run->changes_error) < 0)
		return;
	run->has_changes = true;
	if (run->keep_fd < 0)
		return;
	run->has_kept = mr_keep_changes(run->upper_fd, run->lower_fd, run->keep_fd, &keep,
					&run->kept, &run->changes_error) == 0;
	if (run->has_kept)
		(void)mr_keep_check(&run->kept, &run->changes_error);
}

/* From outside, through the sandbox's root: the mount is held after its namespace is gone. */
int mr_result_hold_tmpfs(struct mr_run *run, struct mr_error *err)
{
	const struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
				      .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS };

	for (size_t i = 0; i < run->spec->n_mounts; i++) {
		const struct mr_spec_mount *m = &run->spec->mounts[i];
		int *fds;
		int fd;

		if (m->kind != MR_MOUNT_TMPFS || !m->size_bytes)
			continue;
		fd = (int)syscall(SYS_openat2, run->root_fd, m->dest, &how, sizeof(how));
		if (fd < 0)
			return mr_err(err, MR_E_SYS, errno, "tmpfs %s: open: %m", m->dest);
		fds = reallocarray(run->tmpfs_fds, run->n_tmpfs + 1, sizeof(*fds));
		mr_assert(fds);
		run->tmpfs_fds = fds;
		run->tmpfs_fds[run->n_tmpfs++] = fd;
	}
	return 0;
}

void mr_result_drop_tmpfs(struct mr_run *run)
{
	while (run->n_tmpfs > 0)
		mr_close(run->tmpfs_fds[--run->n_tmpfs]);
	mr_freep(&run->tmpfs_fds);
	run->tmpfs_fds = NULL;
}

/* What writes meet as ENOSPC: no block or no inode is left, where they are limited at all. */
static bool is_full(const struct statvfs *fs)
{
	return (fs->f_blocks && fs->f_bfree == 0) || (fs->f_files && fs->f_ffree == 0);
}

static void look_for_full_disk(struct mr_run *run)
{
	if (run->pool_fd >= 0 && fstatvfs(run->pool_fd, &run->pool) == 0) {
		run->has_pool = true;
		run->facts.disk_full = is_full(&run->pool);
	}
	for (size_t i = 0; i < run->n_tmpfs; i++) {
		struct statvfs fs;

		run->facts.disk_full |= fstatvfs(run->tmpfs_fds[i], &fs) == 0 && is_full(&fs);
	}
}

void mr_result_count_leftovers(struct mr_run *run)
{
	struct mr_error err = MR_ERROR_INIT;
	size_t n = 0;

	if (!run->cgroup)
		return;
	run->has_leftovers = mr_cgroup_pids(run->cgroup, NULL, 0, &n, &err) == 0;
	if (!run->has_leftovers)
		mr_log_warn("run %s: processes left: %s", run->id, err.msg);
	else if (n > 0)
		run->leftover_killed = (unsigned int)n - !run->init_gone;
}

void mr_result_collect(struct mr_run *run)
{
	struct mr_error err = MR_ERROR_INIT;

	if (run->cgroup) {
		run->has_stats = mr_cgroup_stats(run->cgroup, &run->stats, &err) == 0;
		if (!run->has_stats)
			mr_log_warn("run %s: usage: %s", run->id, err.msg);
	}
	if (run->has_stats && run->stats.oom_kills != MR_STAT_UNKNOWN)
		run->facts.oom_kills = run->stats.oom_kills;
	if (run->has_stats && run->stats.pids_max_events != MR_STAT_UNKNOWN)
		run->facts.pids_max_events = run->stats.pids_max_events;
	look_for_full_disk(run);
	run->facts.fsize_limited = run->spec->limits_fsize_bytes != MR_UNLIMITED;
	run->facts.seccomp_killed =
		run->telemetry.trail && mr_trail_has_seccomp_kill(run->telemetry.trail);
	run->facts.output_lost = run->out.lost || run->err.lost;
	mr_failures_count(run);
	mr_faults_collect(run);
	mr_shaping_collect(run);
	if (run->spec->sandbox_record_access)
		mr_recorder_finish(&run->recorder);
}

void mr_run_collect(struct mr_run *run, void (*others)(void *owner), void *owner)
{
	struct mr_turns turns = { .give = others, .owner = owner };

	mr_assert(run->state == MR_RUN_DONE && !run->collected);
	read_changes(run, others ? &turns : NULL);
	run->collected = true;
	if (!run->changes_error.code)
		return;
	mr_log_error("run %s: workspace: %s", run->id, run->changes_error.msg);
	if (run->verdict.exit_status == 0)
		run->verdict.exit_status = mr_errc_exit_status(MR_E_SYS);
}

int mr_run_exit_status(const struct mr_run *run)
{
	mr_assert(run->collected);
	return run->verdict.exit_status;
}

const struct mr_error *mr_run_error(const struct mr_run *run)
{
	return run->facts.setup_failed ? &run->error : NULL;
}

const char *mr_run_id(const struct mr_run *run)
{
	return run->id;
}

static json_t *number(uint64_t value)
{
	return value == MR_STAT_UNKNOWN ? json_null() : json_integer((json_int_t)value);
}

static json_t *stat_of(const struct mr_run *run, uint64_t value)
{
	return run->has_stats ? number(value) : json_null();
}

static uint64_t timeval_us(const struct timeval *tv)
{
	return (uint64_t)tv->tv_sec * 1000000 + (uint64_t)tv->tv_usec;
}

static json_t *span_us(uint64_t from_ns, uint64_t to_ns)
{
	return from_ns && to_ns >= from_ns ? json_integer((json_int_t)((to_ns - from_ns) / 1000))
					   : json_null();
}

/* Three clocks: the group's, the kernel's sum over waited-for processes, and their difference. */
static json_t *cpu_json(const struct mr_run *run)
{
	const struct mr_cgroup_stats *s = &run->stats;
	uint64_t rusage = timeval_us(&run->rusage.ru_utime) + timeval_us(&run->rusage.ru_stime);
	bool both = run->has_stats && s->cpu_usage_us != MR_STAT_UNKNOWN && run->has_rusage;
	json_t *cpu =
		json_pack("{s:o, s:o, s:o, s:s?, s:o, s:o, s:o, s:o}", "usage_us",
			  stat_of(run, s->cpu_usage_us), "user_us", stat_of(run, s->cpu_user_us),
			  "system_us", stat_of(run, s->cpu_system_us), "source",
			  run->has_stats && s->cpu_usage_us != MR_STAT_UNKNOWN ? "cpu.stat" : NULL,
			  "rusage_us",
			  run->has_rusage ? json_integer((json_int_t)rusage) : json_null(),
			  "difference_us",
			  both ? json_integer((json_int_t)s->cpu_usage_us - (json_int_t)rusage)
			       : json_null(),
			  "throttled_us", stat_of(run, s->cpu_throttled_us), "throttled_periods",
			  stat_of(run, s->cpu_nr_throttled));

	if (!run->has_stats && run->procs.cpu_us) {
		json_object_set_new(cpu, "usage_us", json_integer((json_int_t)run->procs.cpu_us));
		json_object_set_new(cpu, "source", json_string("polled /proc"));
	}
	return cpu;
}

static json_t *memory_json(const struct mr_run *run)
{
	const struct mr_cgroup_stats *s = &run->stats;
	json_int_t rss = (json_int_t)run->rusage.ru_maxrss * 1024;
	json_t *memory =
		json_pack("{s:o, s:s?, s:o, s:o}", "peak_bytes", stat_of(run, s->memory_peak_bytes),
			  "source", run->has_stats ? s->memory_peak_source : NULL,
			  "largest_process_bytes",
			  run->has_rusage ? json_integer(rss) : json_null(), "limit_hits",
			  stat_of(run, s->memory_max_events));

	if (!run->has_stats && run->procs.rss_peak_bytes) {
		json_object_set_new(memory, "peak_bytes",
				    json_integer((json_int_t)run->procs.rss_peak_bytes));
		json_object_set_new(memory, "source", json_string("polled /proc"));
	}
	return memory;
}

static json_t *rusage_number(const struct mr_run *run, long value)
{
	return run->has_rusage ? json_integer(value) : json_null();
}

static json_t *io_json(const struct mr_run *run)
{
	const struct mr_cgroup_stats *s = &run->stats;

	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "block_read_bytes",
			 stat_of(run, s->io_read_bytes), "block_write_bytes",
			 stat_of(run, s->io_write_bytes), "block_read_ops",
			 stat_of(run, s->io_read_ops), "block_write_ops",
			 stat_of(run, s->io_write_ops), "rusage_inblock_512",
			 rusage_number(run, run->rusage.ru_inblock), "rusage_oublock_512",
			 rusage_number(run, run->rusage.ru_oublock));
}

static json_t *disk_json(const struct mr_run *run)
{
	uint64_t used = (uint64_t)(run->pool.f_blocks - run->pool.f_bfree) * run->pool.f_frsize;

	/* An unlimited tmpfs has no block count. */
	if (!run->has_pool || !run->pool.f_blocks)
		return json_pack("{s:n, s:n}", "used_bytes", "used_inodes");
	return json_pack("{s:I, s:I}", "used_bytes", (json_int_t)used, "used_inodes",
			 (json_int_t)(run->pool.f_files - run->pool.f_ffree));
}

static json_t *psi_json(const struct mr_run *run)
{
	const struct mr_cgroup_stats *s = &run->stats;

	return json_pack("{s:o, s:o, s:o, s:o, s:o}", "cpu_some_us",
			 stat_of(run, s->psi_cpu_some_us), "memory_some_us",
			 stat_of(run, s->psi_memory_some_us), "memory_full_us",
			 stat_of(run, s->psi_memory_full_us), "io_some_us",
			 stat_of(run, s->psi_io_some_us), "io_full_us",
			 stat_of(run, s->psi_io_full_us));
}

/* Why it is not known how many the main process did not wait for; NULL: it is. */
static const char *why_no_unreaped(const struct mr_run *run)
{
	if (!run->facts.main_ended)
		return "the main process was ended with all others, or did not begin";
	return run->unreaped < 0 ? "more than the sandbox's init counts" : NULL;
}

static json_t *pids_json(const struct mr_run *run)
{
	const char *why = why_no_unreaped(run);

	return json_pack("{s:o, s:o, s:o, s:s?}", "peak", stat_of(run, run->stats.pids_peak),
			 "limit_hits", stat_of(run, run->stats.pids_max_events), "unreaped",
			 why ? json_null() : json_integer(run->unreaped), "unreaped_why", why);
}

static json_t *usage_json(const struct mr_run *run)
{
	return json_pack("{s:o, s:o, s:o, s:{s:o, s:o, s:s}, s:{s:o, s:o, s:s}, s:o, s:o, s:o, "
			 "s:o}",
			 "wall_us", span_us(run->go_ns, run->end_ns), "cpu", cpu_json(run),
			 "memory", memory_json(run), "page_faults", "minor",
			 rusage_number(run, run->rusage.ru_minflt), "major",
			 rusage_number(run, run->rusage.ru_majflt), "source", "rusage",
			 "context_switches", "voluntary", rusage_number(run, run->rusage.ru_nvcsw),
			 "involuntary", rusage_number(run, run->rusage.ru_nivcsw), "source",
			 "rusage", "io", io_json(run), "disk", disk_json(run), "pids",
			 pids_json(run), "pressure", psi_json(run));
}

static json_t *limits_hit_json(const struct mr_run *run)
{
	const char *limit = mr_kill_limit(run->facts.kill);
	json_t *hit = json_array();

	if (limit)
		json_array_append_new(hit, json_string(limit));
	if (run->facts.oom_kills && run->facts.kill != MR_KILL_OOM)
		json_array_append_new(hit, json_string("memory"));
	if (run->facts.pids_max_events)
		json_array_append_new(hit, json_string("pids"));
	if (run->facts.disk_full)
		json_array_append_new(hit, json_string("disk"));
	return hit;
}

static json_t *oom_json(const struct mr_run *run)
{
	const char *level = run->has_stats ? mr_cgroup_oom_level(run->cgroup, &run->stats) : NULL;

	return json_pack("{s:o, s:s?}", "kills", stat_of(run, run->stats.oom_kills), "level",
			 level);
}

static json_t *exit_json(const struct mr_run *run)
{
	const struct mr_verdict *v = &run->verdict;

	return json_pack("{s:i, s:o, s:o, s:s?}", "status", v->exit_status, "code",
			 v->has_code ? json_integer(v->code) : json_null(), "signal",
			 v->signal ? json_integer(v->signal) : json_null(), "signal_name",
			 v->signal ? sigabbrev_np(v->signal) : NULL);
}

/* How long it was ready and waited for its caller's word. */
static uint64_t held_ns(const struct mr_run *run)
{
	const bool held = run->opts.ready && run->opts.ready->block_fd >= 0 && run->go_ns;

	return held ? run->go_ns - run->ready_ns : 0;
}

static json_t *timings_json(const struct mr_run *run)
{
	json_t *steps = json_object();

	for (size_t i = 0; i < run->built.built.n && mr_launch_step_name(i); i++)
		json_object_set_new(steps, mr_launch_step_name(i),
				    json_real((double)run->built.built.took_ns[i] / 1000));
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:I, s:o}", "cgroup_us",
			 span_us(run->begin_ns, run->cgroup_ns), "clone_us",
			 json_integer((json_int_t)(run->launched.clone_ns / 1000)), "setup_us",
			 span_us(run->begin_ns, run->go_ns - held_ns(run)), "held_us",
			 span_us(run->go_ns - held_ns(run), run->go_ns), "teardown_us",
			 span_us(run->end_ns, run->done_ns), "clock_skew_ns",
			 (json_int_t)run->clock_skew_ns, "steps_us", steps);
}

const char *mr_result_workspace_note(const struct mr_run *run)
{
	return run->built.built.no_opaque
		       ? "in a user namespace this kernel cannot mark a folder as replaced (user.* "
			 "attributes on tmpfs, Linux 6.6): removing or replacing a folder that was "
			 "there fails with EIO; as root without --userns it works"
		       : NULL;
}

static json_t *workspace_json(const struct mr_run *run)
{
	json_t *workspace;

	if (!run->spec->sandbox_workspace[0])
		return json_null();
	workspace = json_pack("{s:s, s:s?, s:o, s:o, s:o}", "path", run->spec->sandbox_workspace,
			      "note", mr_result_workspace_note(run), "changes",
			      run->has_changes ? mr_changes_to_json(&run->changes) : json_null(),
			      "kept", run->has_kept ? mr_keep_to_json(&run->kept) : json_null(),
			      "error",
			      run->changes_error.code ? mr_text_error(&run->changes_error)
						      : json_null());
	return workspace;
}

static json_t *time_json(uint64_t real_ns)
{
	time_t seconds = (time_t)(real_ns / 1000000000);
	char text[40], day[24];
	struct tm tm;

	gmtime_r(&seconds, &tm);
	strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text, sizeof(text), "%s.%06juZ", day, (uintmax_t)(real_ns % 1000000000 / 1000));
	return json_string(text);
}

json_t *mr_run_result(struct mr_run *run)
{
	char spec_hash[65];
	const struct mr_unseen_part unseen[] = { mr_datagrams_unseen(run), mr_network_unseen(run) };
	json_t *list = json_array(), *denials, *receipt, *result;

	mr_assert(run->collected);
	mr_spec_hash(run->opts.spec, spec_hash);
	for (size_t i = 0; i < run->spec->unenforced.n; i++)
		json_array_append_new(list, json_string(run->spec->unenforced.v[i]));
	result = json_pack("{s:s, s:s, s:s, s:s?, s:s, s:o, s:s, s:o, s:o}", "schema",
			   "menace.result/1", "version", MENACE_VERSION, "run_id", run->id, "name",
			   run->spec->name, "spec_sha256", spec_hash, "started_at",
			   time_json(run->start_real_ns), "reason",
			   mr_reason_name(run->verdict.reason), "exit", exit_json(run), "error",
			   run->facts.setup_failed ||
					   run->verdict.reason == MR_REASON_supervisor_lost
				   ? mr_text_error(&run->error)
				   : json_null());
	json_object_set_new(result, "usage", usage_json(run));
	json_object_set_new(result, "limits", mr_spec_limits_to_json(run->spec));
	json_object_set_new(result, "limits_hit", limits_hit_json(run));
	json_object_set_new(result, "oom", oom_json(run));
	json_object_set_new(result, "leftover_killed",
			    run->has_leftovers ? json_integer(run->leftover_killed) : json_null());
	json_object_set_new(result, "stdout", mr_capture_to_json(&run->out.capture));
	json_object_set_new(result, "stderr", mr_capture_to_json(&run->err.capture));
	json_object_set_new(result, "workspace", workspace_json(run));
	denials = mr_denials_to_json(&run->denials);
	mr_unseen_tell(denials, run->spec, unseen, N_ELEMENTS(unseen));
	json_object_set_new(result, "denials", denials);
	json_object_set_new(result, "network", mr_network_to_json(run));
	mr_failures_tell(run, result);
	json_object_set_new(result, "telemetry", mr_telemetry_to_json(&run->telemetry));
	if (run->recorder.paths)
		json_object_set_new(result, "access", mr_recorder_to_json(&run->recorder));
	receipt = mr_receipt_to_json(&run->receipt, run->spec);
	if (run->opts.spec->policy)
		json_object_set_new(receipt, "policy", mr_narrowing_to_json(run));
	mr_network_receipt(run, json_object_get(receipt, "network"));
	json_object_set_new(json_object_get(receipt, "network"), "shaping",
			    mr_shaping_to_json(run));
	json_object_set_new(json_object_get(receipt, "network"), "faults", mr_faults_to_json(run));
	json_object_set_new(result, "receipt", receipt);
	json_object_set_new(result, "not_enforced", list);
	json_object_set_new(result, "timings", timings_json(run));
	return result;
}
