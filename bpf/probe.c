/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probe
 *
 * A run takes the first slot whose folder it can lock, writes down in the slot what it
 * is about to put into `runs`, and only then does.  So whatever a killed supervisor
 * left is named in a slot that nobody holds, and the next start takes it away.
 *
 * Rings are made for a slot when it is first used.  Putting one into the array of
 * maps waits for all programs to have seen it (tens of milliseconds), which is why it
 * is done once for a slot and not for each run.
 */
#include "bpf/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpf/attach.h"
#include "bpf/decode.h"
#include "bpf/missed.h"
#include "bpf/start.h"
#include "bpf/sys.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/event.h"
#include "runtime/base/log.h"
#include "runtime/base/str.h"

struct mr_probes {
	enum mr_probe_level level;
	char path[MR_PINS_PATH_MAX];
	int runs_fd, slots_fd;
	int owners_fd;
	struct mr_missed missed;
	uint64_t tried; /* rows that were; what the matrix says of them is final */
	struct mr_wire_probe matrix[MR_ROW_COUNT_];
	struct mr_probe_view *views[MR_WIRE_SLOTS]; /* NULL: not used yet */
};

#define CALLS_BYTES (MR_WIRE_CALLS * sizeof(uint64_t))
#define OPEN_TRIES 3

struct mr_probes *mr_probes_free(struct mr_probes *probes)
{
	if (!probes)
		return NULL;
	for (unsigned int i = 0; i < MR_WIRE_SLOTS; i++) {
		for (int j = 0; probes->views[i] && j < MR_RING_COUNT_; j++)
			mr_close(probes->views[i]->rings[j].fd);
		free(probes->views[i]);
	}
	mr_close(probes->runs_fd);
	mr_close(probes->slots_fd);
	mr_close(probes->owners_fd);
	mr_missed_close(&probes->missed);
	free(probes);
	return NULL;
}

static int get_pinned(const struct mr_probes *probes, const char *name, struct mr_error *err)
{
	char path[MR_PINS_PATH_MAX];
	int r = mr_pins_join(path, probes->path, name, err), fd;

	if (r < 0)
		return r;
	fd = mr_bpf_get(path);
	return fd < 0 ? mr_err(err, MR_E_SYS, errno, "open %s: %m", path) : fd;
}

static int read_matrix(struct mr_probes *probes, struct mr_error *err)
{
	mr_auto_close int fd = get_pinned(probes, "matrix", err);
	const uint32_t first = 0;

	if (fd >= 0 && mr_bpf_map_lookup(fd, &first, probes->matrix) < 0)
		return mr_err(err, MR_E_SYS, errno, "read matrix of %s: %m", probes->path);
	return fd < 0 ? fd : 0;
}

static bool is_there(const struct mr_probes *probes, const char *name)
{
	char path[MR_PINS_PATH_MAX];

	return mr_pins_join(path, probes->path, name, NULL) == 0 && access(path, F_OK) == 0;
}

/* 1: the set, or this level of it, is not there. */
static int open_set(struct mr_probes *probes, struct mr_error *err)
{
	char root[MR_PINS_PATH_MAX], name[MR_PINS_PATH_MAX];
	int r = mr_pins_root(root, err);

	if (r != 0)
		return r;
	mr_pins_set_name(name);
	r = mr_pins_join(probes->path, root, name, err);
	snprintf(name, sizeof(name), "ready-%s", mr_probe_level_name(probes->level));
	if (r == 0 && probes->level != MR_PROBE_LEVEL_OFF && !is_there(probes, name))
		return 1;
	if (r == 0)
		r = probes->runs_fd = get_pinned(probes, "runs", err);
	if (r >= 0)
		r = probes->slots_fd = get_pinned(probes, "slots", err);
	if (r >= 0)
		r = probes->owners_fd = get_pinned(probes, "owners", err);
	if (r >= 0)
		r = read_matrix(probes, err);
	return r == -ENOENT ? 1 : r; /* purged while we looked */
}

/* "+a,+b" for rows, each name once. */
static void write_switches(uint64_t wanted, struct mr_str *str)
{
	size_t n;
	const struct mr_probe_row *rows = mr_probe_rows(&n);

	for (size_t i = 0; i < n; i++)
		if (wanted >> i & 1 && (i == 0 || strcmp(rows[i].name, rows[i - 1].name) != 0))
			mr_str_printf(str, "%s+%s", str->len ? "," : "", rows[i].name);
}

static int load(const struct mr_probes *probes, uint64_t wanted, struct mr_error *err)
{
	char text[1024];
	struct mr_str switches;

	mr_str_init(&switches, text, sizeof(text));
	write_switches(wanted, &switches);
	return mr_start_loader(probes->level, text, err);
}

static int open_or_load(struct mr_probes *probes, uint64_t wanted, struct mr_error *err)
{
	int r = open_set(probes, err);

	for (int i = 0; r == 1 && i < OPEN_TRIES; i++) {
		r = load(probes, wanted, err);
		if (r == 0)
			r = open_set(probes, err);
	}
	if (r == 1)
		return mr_err(err, MR_E_BUSY, ENOENT,
			      "the probes vanish as soon as they are loaded");
	return r;
}

/* Without any of the programs nothing would ever be counted: then say so now. */
static int check_base(const struct mr_probes *probes, struct mr_error *err)
{
	size_t n;
	const struct mr_probe_row *rows = mr_probe_rows(&n);

	for (size_t i = 0; i < n; i++)
		if (rows[i].kind == MR_PROBE_RAW_TP && probes->matrix[i].state == MR_PROBE_ON)
			return 0;
	return mr_err(err, MR_E_KERNEL, probes->matrix[0].errnum,
		      "the kernel refuses our programs: %m (%s)", probes->matrix[0].why);
}

/* Rows of the level but hooks are tried when it is there, each other one when its object is. */
static uint64_t find_tried(const struct mr_probes *probes, uint64_t wanted)
{
	size_t n;
	const struct mr_probe_row *rows = mr_probe_rows(&n);
	uint64_t tried = 0;

	for (size_t i = 0; i < n; i++)
		if ((rows[i].level <= probes->level && rows[i].kind != MR_PROBE_CGROUP) ||
		    (wanted >> i & 1 && is_there(probes, rows[i].object)))
			tried |= 1ULL << i;
	return tried;
}

int mr_probes_need(struct mr_probes *probes, uint64_t wanted, struct mr_error *err)
{
	uint64_t missing = wanted & ~probes->tried;
	int r = 0;

	if (!missing)
		return 0;
	if (missing & ~find_tried(probes, wanted))
		r = load(probes, wanted, err);
	if (r == 0)
		r = read_matrix(probes, err);
	if (r == 0)
		probes->tried |= find_tried(probes, wanted);
	if (r == 0 && wanted & ~probes->tried)
		return mr_err(err, MR_E_BUSY, ESTALE,
			      "the probes were purged while they were loaded");
	return r;
}

int mr_probes_open(enum mr_probe_level level, uint64_t wanted, struct mr_probes **ret,
		   struct mr_error *err)
{
	struct mr_probes *probes = mr_str_alloc(sizeof(*probes));
	int r;

	probes->level = level;
	probes->runs_fd = probes->slots_fd = probes->owners_fd = -1;
	r = open_or_load(probes, wanted, err);
	if (r >= 0)
		probes->tried = find_tried(probes, wanted);
	if (r >= 0 && level != MR_PROBE_LEVEL_OFF)
		r = check_base(probes, err);
	if (r < 0) {
		mr_probes_free(probes);
		return r;
	}
	*ret = probes;
	return 0;
}

const struct mr_wire_probe *mr_probes_state(const struct mr_probes *probes, size_t row)
{
	return &probes->matrix[row];
}

/* --- slots --------------------------------------------------------------------------- */

static int lock_slot(const struct mr_probes *probes, unsigned int i, int *ret_fd,
		     struct mr_error *err)
{
	char path[MR_PINS_PATH_MAX], name[16];
	int r;

	snprintf(name, sizeof(name), "s%u", i);
	r = mr_pins_join(path, probes->path, name, err);
	return r < 0 ? r : mr_pins_lock(path, false, ret_fd, err);
}

static void set_owner(const struct mr_probes *probes, uint32_t slot, uint64_t cgroup_id)
{
	if (mr_bpf_map_update(probes->owners_fd, &slot, &cgroup_id) < 0)
		mr_log_warn("telemetry: note the owner of slot %u: %m", slot);
}

static void forget_group(const struct mr_probes *probes, uint64_t id)
{
	if (mr_bpf_map_delete(probes->runs_fd, &id) < 0 && errno != ENOENT)
		mr_log_warn("telemetry: forget control group %ju: %m", (uintmax_t)id);
}

/* Out of `runs` first: whoever finds the slot marked later has nothing to do twice.  An id that a dead
 * run left may be that of another group by now, which is observed for a slot of its own. */
static void disown_slot(const struct mr_probes *probes, uint32_t slot)
{
	struct mr_wire_run run;
	uint64_t id = 0;

	if (mr_bpf_map_lookup(probes->owners_fd, &slot, &id) < 0)
		mr_log_warn("telemetry: read the owner of slot %u: %m", slot);
	if (!id)
		return;
	if (mr_bpf_map_lookup(probes->runs_fd, &id, &run) == 0 && run.slot == slot)
		forget_group(probes, id);
	set_owner(probes, slot, 0);
}

unsigned int mr_probes_sweep(struct mr_probes *probes)
{
	uint64_t id, next;
	unsigned int n = 0;
	bool more = mr_bpf_map_next(probes->runs_fd, NULL, &next) == 0;

	/* As many steps as it can hold: others put in and take out meanwhile. */
	for (unsigned int i = 0; more && i < MR_WIRE_SLOTS * 2; i++) {
		struct mr_wire_run run;
		mr_auto_close int fd = -1;

		id = next;
		more = mr_bpf_map_next(probes->runs_fd, &id, &next) == 0;
		if (mr_bpf_map_lookup(probes->runs_fd, &id, &run) < 0 ||
		    lock_slot(probes, run.slot, &fd, NULL) != 0)
			continue;
		/* Nobody has the slot, so nobody has the group. */
		forget_group(probes, id);
		disown_slot(probes, run.slot);
		n++;
	}
	return n;
}

static int take_slot(struct mr_probes *probes, struct mr_probe_run *run, struct mr_error *err)
{
	for (unsigned int i = 0; i < MR_WIRE_SLOTS; i++) {
		int r = lock_slot(probes, i, &run->lock_fd, err);

		if (r == 2)
			return mr_err(err, MR_E_BUSY, ESTALE,
				      "the probes were purged while this run began");
		if (r < 0)
			return r;
		if (r == 0) {
			run->slot = i;
			disown_slot(probes, i);
			return 0;
		}
	}
	if (access(probes->path, F_OK) < 0)
		return mr_err(err, MR_E_BUSY, ESTALE,
			      "the probes were purged while this run began");
	return mr_err(err, MR_E_BUSY, EBUSY,
		      "%d runs are being observed; there is room for no more", MR_WIRE_SLOTS);
}

/* --- rings ---------------------------------------------------------------------------- */

static const struct ring_row {
	const char *name;
	uint32_t bytes;
} ring_rows[] = {
	[MR_RING_EVENTS] = { "events", MR_RING_EVENTS_BYTES },
	[MR_RING_VITAL] = { "vital", MR_RING_VITAL_BYTES },
};

/* Pinned last: a ring that has its name is in the array too. */
static int make_ring(const struct mr_probes *probes, unsigned int slot, enum mr_wire_ring ring,
		     const char *path, struct mr_error *err)
{
	mr_auto_close int fd = mr_bpf_map_create(BPF_MAP_TYPE_RINGBUF, 0, 0, ring_rows[ring].bytes,
						 0, -1, "menace_ring");
	mr_auto_close int array = get_pinned(probes, "rings", err);
	uint32_t key = slot * MR_RING_COUNT_ + ring, value = (uint32_t)fd;

	if (array < 0)
		return array;
	if (fd < 0)
		return mr_err(err, MR_E_KERNEL, errno, "make a ring of events: %m");
	if (mr_bpf_map_update(array, &key, &value) < 0)
		return mr_err(err, MR_E_SYS, errno, "put a ring into its slot: %m");
	if (mr_bpf_pin(fd, path) < 0)
		return mr_err(err, MR_E_SYS, errno, "pin %s: %m", path);
	return mr_take_fd(fd);
}

static int open_ring(const struct mr_probes *probes, unsigned int slot, enum mr_wire_ring ring,
		     struct mr_ring *ret, struct mr_error *err)
{
	char path[MR_PINS_PATH_MAX], name[32];
	int r, fd;

	snprintf(name, sizeof(name), "s%u/%s", slot, ring_rows[ring].name);
	r = mr_pins_join(path, probes->path, name, err);
	if (r < 0)
		return r;
	fd = mr_bpf_get(path);
	if (fd < 0 && errno == ENOENT)
		fd = make_ring(probes, slot, ring, path, err);
	else if (fd < 0)
		fd = mr_err(err, MR_E_SYS, errno, "open %s: %m", path);
	return fd < 0 ? fd : mr_ring_open(ret, fd, ring_rows[ring].bytes, err);
}

/* Like a ring: made for a slot when it is first wanted. */
static int open_calls(struct mr_probes *probes, unsigned int slot, uint64_t **ret,
		      struct mr_error *err)
{
	mr_auto_close int fd = -1, array = get_pinned(probes, "calls", err);
	char path[MR_PINS_PATH_MAX], name[32];
	void *mapped;

	snprintf(name, sizeof(name), "s%u/calls", slot);
	if (array < 0 || mr_pins_join(path, probes->path, name, err) < 0)
		return -ENOENT;
	fd = mr_bpf_get(path);
	if (fd < 0) {
		fd = mr_bpf_map_create(BPF_MAP_TYPE_ARRAY, 4, 8, MR_WIRE_CALLS, BPF_F_MMAPABLE, -1,
				       "menace_calls");
		if (fd < 0 || mr_bpf_map_update(array, &slot, &(uint32_t){ (uint32_t)fd }) < 0 ||
		    mr_bpf_pin(fd, path) < 0)
			return mr_err(err, MR_E_KERNEL, errno, "make %s: %m", path);
	}
	mapped = mr_bpf_mmap(fd, CALLS_BYTES, PROT_READ | PROT_WRITE, 0);
	if (mapped == MAP_FAILED)
		return mr_err(err, MR_E_SYS, errno, "map %s: %m", path);
	*ret = mapped;
	return 0;
}

static int make_view(struct mr_probes *probes, unsigned int slot, struct mr_probe_view **ret,
		     struct mr_error *err)
{
	mr_auto_free struct mr_probe_view *view = mr_str_alloc(sizeof(*view));
	int r = 0;

	view->rings[0] = view->rings[1] = (struct mr_ring)MR_RING_INIT;
	for (int i = 0; r == 0 && i < MR_RING_COUNT_; i++)
		r = open_ring(probes, slot, (enum mr_wire_ring)i, &view->rings[i], err);
	if (r < 0) {
		mr_ring_close(&view->rings[0]);
		mr_ring_close(&view->rings[1]);
		return r;
	}
	*ret = mr_take_ptr(view);
	return 0;
}

/* The slot is locked by us. */
static int open_view(struct mr_probes *probes, unsigned int slot, bool wants_calls,
		     struct mr_probe_view **ret, struct mr_error *err)
{
	struct mr_probe_view *view = probes->views[slot];
	int r = view ? 0 : make_view(probes, slot, &view, err);

	if (r < 0)
		return r;
	probes->views[slot] = *ret = view;
	for (int i = 0; i < MR_RING_COUNT_; i++)
		mr_ring_skip(&view->rings[i]);
	if (!wants_calls)
		return 0;
	if (!view->calls)
		r = open_calls(probes, slot, &view->calls, err);
	if (r == 0)
		memset(view->calls, 0, CALLS_BYTES);
	return r;
}

/* --- a run ------------------------------------------------------------------------------ */

/* What is about to be done is written down first. */
static int enter(struct mr_probe_run *run, const struct mr_probe_group *group, struct mr_error *err)
{
	const struct mr_wire_slot counts = { .generation = run->generation };
	struct mr_wire_run entry = { .generation = run->generation,
				     .rows = run->rows,
				     .slot = run->slot,
				     .flags = group->has_init ? MR_WIRE_RUN_WITHOUT_INIT : 0 };

	if (mr_bpf_map_update(run->probes->slots_fd, &run->slot, &counts) < 0)
		return mr_err(err, MR_E_SYS, errno, "clear the counters of slot %u: %m", run->slot);
	if (mr_bpf_map_update(run->probes->owners_fd, &run->slot, &group->id) < 0)
		return mr_err(err, MR_E_SYS, errno, "note the owner of slot %u: %m", run->slot);
	if (mr_bpf_map_update(run->probes->runs_fd, &group->id, &entry) < 0)
		return mr_err(err, MR_E_SYS, errno, "observe control group %ju: %m",
			      (uintmax_t)group->id);
	return 0;
}

void mr_probe_run_init(struct mr_probe_run *run)
{
	*run = (struct mr_probe_run){ .lock_fd = -1 };
	for (size_t i = 0; i < N_ELEMENTS(run->links); i++)
		run->links[i] = -1;
}

/* Of the rows that are wanted those that are there; of several ways to a fact one. */
static uint64_t choose_rows(const struct mr_probes *probes, const struct mr_probe_group *group)
{
	size_t n;
	const struct mr_probe_row *rows = mr_probe_rows(&n);
	uint64_t chosen = 0;
	const char *last = "";

	for (size_t i = 0; i < n; i++) {
		if (!(group->rows >> i & 1) || probes->matrix[i].state != MR_PROBE_ON ||
		    (rows[i].kind == MR_PROBE_CGROUP && !group->wants_net) ||
		    (rows[i].kind == MR_PROBE_RAW_TP_IO && !group->has_io) ||
		    strcmp(rows[i].name, last) == 0)
			continue;
		chosen |= 1ULL << i;
		last = rows[i].name;
	}
	return chosen;
}

/* Of the rows of one object at one tracepoint that this run wants the first: its program looks for
 * all of them, since each one more at a tracepoint costs more than what it does. */
static size_t find_leader(const struct mr_probe_run *run, const struct mr_probe_row *rows,
			  size_t row)
{
	for (size_t i = 0; i < row; i++)
		if (run->rows >> i & 1 && rows[i].kind == MR_PROBE_RAW_TP_RUN &&
		    strcmp(rows[i].object, rows[row].object) == 0 &&
		    strcmp(rows[i].target, rows[row].target) == 0)
			return i;
	return row;
}

/* A refusal is a fact that is not known, never the end of the run. */
static void attach_rows(struct mr_probe_run *run, int cgroup_fd)
{
	size_t n;
	const struct mr_probe_row *rows = mr_probe_rows(&n);

	for (size_t i = 0; i < n; i++) {
		size_t leader = find_leader(run, rows, i);

		if ((rows[i].kind != MR_PROBE_CGROUP && rows[i].kind != MR_PROBE_RAW_TP_RUN) ||
		    !(run->rows >> i & 1))
			continue;
		if (leader != i) {
			run->errnums[i] = run->errnums[leader];
			continue;
		}
		run->links[i] = mr_attach_row(run->probes->path, &rows[i], cgroup_fd, NULL);
		if (run->links[i] < 0)
			run->errnums[i] = -run->links[i];
	}
}

bool mr_probe_run_knows(const struct mr_probe_run *run, const char *name)
{
	size_t n;
	const struct mr_probe_row *rows = mr_probe_rows(&n);

	for (size_t i = 0; i < n; i++)
		if (run->rows >> i & 1 && !run->errnums[i] && strcmp(rows[i].name, name) == 0)
			return true;
	return false;
}

static bool count_missed(const struct mr_probe_run *run, uint64_t *ret)
{
	return mr_missed_count(&run->probes->missed, run->probes->path, run->rows, ret) == 0;
}

int mr_probe_run_begin(struct mr_probes *probes, const struct mr_probe_group *group,
		       struct mr_probe_run *run, struct mr_error *err)
{
	int r;

	mr_probe_run_init(run);
	r = mr_probes_need(probes, group->rows, err);
	if (r == 0)
		r = take_slot(probes, run, err);
	if (r < 0)
		return r;
	run->probes = probes;
	run->rows = choose_rows(probes, group);
	run->generation = mr_now_ns(); /* differs from that of every earlier holder */
	r = open_view(probes, run->slot, run->rows >> MR_ROW_on_return & 1, &run->view, err);
	if (r == 0)
		r = enter(run, group, err);
	if (r < 0)
		mr_probe_run_end(run);
	else
		attach_rows(run, group->fd);
	if (r == 0)
		run->knows_missed = count_missed(run, &run->missed_before);
	return r;
}

bool mr_probe_run_missed(const struct mr_probe_run *run, uint64_t *ret)
{
	uint64_t now;

	if (!run->knows_missed || !count_missed(run, &now))
		return false;
	*ret = now - run->missed_before;
	return true;
}

struct taking {
	struct mr_probe_run *run;
	void (*take)(void *owner, const struct mr_event *event);
	void *owner;
};

static void take_record(void *owner, const void *record, size_t size)
{
	const struct taking *t = owner;
	struct mr_wire_header h;
	struct mr_event_module modules[MR_EVENT_MODULES_MAX];
	struct mr_event event;
	int r = mr_decode(record, size, t->run->generation, &event, modules, NULL);

	if (r < 0)
		t->run->malformed++;
	if (r != 0)
		return;
	memcpy(&h, record, sizeof(h));
	t->run->taken[h.type]++;
	if (t->take)
		t->take(t->owner, &event);
}

void mr_probe_run_read(struct mr_probe_run *run,
		       void (*take)(void *owner, const struct mr_event *event), void *owner)
{
	struct taking t = { run, take, owner };

	for (int i = 0; run->probes && i < MR_RING_COUNT_; i++)
		mr_ring_read(&run->view->rings[i], take_record, &t);
}

int mr_probe_run_counts(const struct mr_probe_run *run, struct mr_wire_slot *ret,
			struct mr_error *err)
{
	if (mr_bpf_map_lookup(run->probes->slots_fd, &run->slot, ret) < 0)
		return mr_err(err, MR_E_SYS, errno, "read the counters of slot %u: %m", run->slot);
	return 0;
}

void mr_probe_run_end(struct mr_probe_run *run)
{
	static const struct mr_wire_slot nobodys;
	size_t n;
	const struct mr_probe_row *rows = mr_probe_rows(&n);

	for (size_t i = 0; run->probes && i < n; i++)
		mr_detach_row(run->probes->path, &rows[i], run->links[i]);
	if (run->probes)
		disown_slot(run->probes, run->slot);
	/* A program that still has the slot in hand sees that it is nobody's. */
	if (run->view && mr_bpf_map_update(run->probes->slots_fd, &run->slot, &nobodys) < 0)
		mr_log_warn("telemetry: clear slot %u: %m", run->slot);
	/* When the set was last used is all that tells one that nobody needs any more. */
	if (run->lock_fd >= 0 && futimens(run->lock_fd, NULL) < 0)
		mr_log_warn("telemetry: note the use of slot %u: %m", run->slot);
	mr_close(run->lock_fd);
	mr_probe_run_init(run);
}
