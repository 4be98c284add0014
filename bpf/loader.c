/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loader
 *
 * The set's maps are made first and shared by all objects.  Each object is loaded
 * alone, so that one refusal is one probe's; of the programs in it those are attached
 * that are the first way to their fact that the kernel takes.  What is pinned is the links: they
 * hold the programs, and the programs the maps.
 */
#include "bpf/loader.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpf/minbtf.h"
#include "bpf/objects.h"
#include "bpf/sets.h"
#include "bpf/wire.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/patience.h"
#include "runtime/base/wait.h"

struct set {
	char root[MR_PINS_PATH_MAX], name[MR_PINS_PATH_MAX], path[MR_PINS_PATH_MAX];
	int runs, slots, owners, control, rings, calls, links, matrix;
	struct mr_wire_probe *probes; /* the matrix, mapped */
	size_t probes_size;
	char btf_path[32]; /* "" : not made yet */
	int btf_fd;
	pid_t btf_helper; /* makes it; -1: nobody does */
};

/* --- folders ------------------------------------------------------------------------- */

static int make_dir(const char *path, struct mr_error *err)
{
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return mr_err(err, MR_E_SYS, errno, "make folder %s: %m", path);
	return 0;
}

/* From DIR/new-NAME to DIR/NAME. */
static int publish(const char *dir, const char *name, struct mr_error *err)
{
	char from[MR_PINS_PATH_MAX], fresh[MR_PINS_PATH_MAX], to[MR_PINS_PATH_MAX];
	int r = mr_pins_join(to, dir, name, err);

	if (r == 0 && snprintf(fresh, sizeof(fresh), MR_PINS_NEW "%s", name) >= (int)sizeof(fresh))
		r = mr_err(err, MR_E_SYS, ENAMETOOLONG, "%s: %m", name);
	if (r == 0)
		r = mr_pins_join(from, dir, fresh, err);
	if (r == 0 && rename(from, to) < 0)
		r = mr_err(err, MR_E_SYS, errno, "rename %s to %s: %m", from, to);
	return r;
}

static bool exists(const char *dir, const char *name)
{
	char path[MR_PINS_PATH_MAX];

	return mr_pins_join(path, dir, name, NULL) == 0 && access(path, F_OK) == 0;
}

/* Where this host has no bpf file system we mount our own, in a folder of ours. */
static int mount_root(const char *path, struct mr_error *err)
{
	struct stat st;
	int r = make_dir("/run/menace", err);

	if (r == 0 && (lstat("/run/menace", &st) < 0 || !S_ISDIR(st.st_mode) || st.st_uid != 0 ||
		       (st.st_mode & 022)))
		r = mr_err(err, MR_E_DENIED, EPERM, "/run/menace is not ours alone");
	if (r == 0)
		r = make_dir(path, err);
	if (r == 0 && mount("bpf", path, "bpf", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0700") < 0)
		r = mr_err(err, MR_E_KERNEL, errno, "mount a bpf file system at %s: %m", path);
	return r;
}

static int lock_run_menace(int *ret_fd, struct mr_error *err)
{
	int r = make_dir("/run/menace", err);

	return r < 0 ? r : mr_pins_lock("/run/menace", true, ret_fd, err);
}

static int find_root(char root[MR_PINS_PATH_MAX], struct mr_error *err)
{
	mr_auto_close int lock = -1;
	int r = mr_pins_root(root, err);

	if (r <= 0)
		return r;
	r = lock_run_menace(&lock, err);
	if (r == 0)
		r = mr_pins_root(root, err); /* another may have been first */
	return r > 0 ? mount_root(root, err) : r;
}

/* --- maps ---------------------------------------------------------------------------- */

static const struct map_row {
	const char *name;
	size_t fd; /* offset in struct set */
	enum bpf_map_type type;
	uint32_t key, value, entries, flags;
} map_rows[] = {
	{ "runs", offsetof(struct set, runs), BPF_MAP_TYPE_HASH, 8, sizeof(struct mr_wire_run),
	  MR_WIRE_SLOTS * 2, 0 },
	{ "slots", offsetof(struct set, slots), BPF_MAP_TYPE_ARRAY, 4, sizeof(struct mr_wire_slot),
	  MR_WIRE_SLOTS, 0 },
	{ "owners", offsetof(struct set, owners), BPF_MAP_TYPE_ARRAY, 4, 8, MR_WIRE_SLOTS, 0 },
	{ "control", offsetof(struct set, control), BPF_MAP_TYPE_ARRAY, 4,
	  sizeof(struct mr_wire_control), 1, BPF_F_MMAPABLE },
	{ "rings", offsetof(struct set, rings), BPF_MAP_TYPE_ARRAY_OF_MAPS, 4, 4,
	  MR_WIRE_SLOTS *MR_RING_COUNT_, 0 },
	{ "calls", offsetof(struct set, calls), BPF_MAP_TYPE_ARRAY_OF_MAPS, 4, 4, MR_WIRE_SLOTS,
	  0 },
	{ "links", offsetof(struct set, links), BPF_MAP_TYPE_ARRAY, 4, 4, MR_ROW_COUNT_, 0 },
	{ "matrix", offsetof(struct set, matrix), BPF_MAP_TYPE_ARRAY, 4,
	  sizeof(struct mr_wire_probe) * MR_ROW_COUNT_, 1, BPF_F_MMAPABLE },
};

static int *map_fd(struct set *set, const struct map_row *row)
{
	return (int *)(void *)((char *)set + row->fd);
}

/* What the elements of an array of maps are like. */
static int make_inner(const char *name)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);

	if (strcmp(name, "rings") == 0)
		return bpf_map_create(BPF_MAP_TYPE_RINGBUF, "ring", 0, 0, MR_RING_VITAL_BYTES,
				      NULL);
	return bpf_map_create(BPF_MAP_TYPE_ARRAY, "outcomes", 4, 8, MR_WIRE_CALLS, &opts);
}

static int make_map(struct set *set, const struct map_row *row, const char *dir,
		    struct mr_error *err)
{
	mr_auto_close int inner = -1;
	char path[MR_PINS_PATH_MAX];
	int r = mr_pins_join(path, dir, row->name, err), *fd = map_fd(set, row);
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = row->flags);

	if (r < 0)
		return r;
	if (row->type == BPF_MAP_TYPE_ARRAY_OF_MAPS) {
		inner = make_inner(row->name);
		if (inner < 0)
			return mr_err(err, MR_E_KERNEL, errno, "make a map for %s: %m", row->name);
		opts.inner_map_fd = (uint32_t)inner;
	}
	*fd = bpf_map_create(row->type, row->name, row->key, row->value, row->entries, &opts);
	if (*fd < 0)
		return mr_err(err, MR_E_KERNEL, errno, "make the map %s: %m", row->name);
	if (bpf_obj_pin(*fd, path) < 0)
		return mr_err(err, MR_E_SYS, errno, "pin %s: %m", path);
	return 0;
}

static int make_slots(const char *dir, struct mr_error *err)
{
	mr_auto_close int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return mr_err(err, MR_E_SYS, errno, "open %s: %m", dir);
	for (unsigned int i = 0; i < MR_WIRE_SLOTS; i++) {
		char name[16];

		snprintf(name, sizeof(name), "s%u", i);
		if (mkdirat(fd, name, 0700) < 0 && errno != EEXIST)
			return mr_err(err, MR_E_SYS, errno, "make folder %s/%s: %m", dir, name);
	}
	return 0;
}

static int make_set(struct set *set, struct mr_error *err)
{
	char fresh[MR_PINS_PATH_MAX], dir[MR_PINS_PATH_MAX];
	int r = 0;

	snprintf(fresh, sizeof(fresh), MR_PINS_NEW "%.200s", set->name);
	r = mr_pins_join(dir, set->root, fresh, err);
	if (r == 0)
		r = make_dir(dir, err);
	for (size_t i = 0; r == 0 && i < N_ELEMENTS(map_rows); i++)
		r = make_map(set, &map_rows[i], dir, err);
	if (r == 0)
		r = make_slots(dir, err);
	return r < 0 ? r : publish(set->root, set->name, err);
}

static int get_set(struct set *set, struct mr_error *err)
{
	for (size_t i = 0; i < N_ELEMENTS(map_rows); i++) {
		char path[MR_PINS_PATH_MAX];
		int r = mr_pins_join(path, set->path, map_rows[i].name, err);

		if (r < 0)
			return r;
		*map_fd(set, &map_rows[i]) = bpf_obj_get(path);
		if (*map_fd(set, &map_rows[i]) < 0)
			return mr_err(err, MR_E_SYS, errno, "open %s: %m", path);
	}
	return 0;
}

static int open_set(struct set *set, struct mr_error *err)
{
	int r = exists(set->root, set->name) ? get_set(set, err) : make_set(set, err);

	if (r < 0)
		return r;
	set->probes_size = MR_ROW_COUNT_ * sizeof(*set->probes);
	set->probes =
		mmap(NULL, set->probes_size, PROT_READ | PROT_WRITE, MAP_SHARED, set->matrix, 0);
	if (set->probes == MAP_FAILED) {
		set->probes = NULL;
		return mr_err(err, MR_E_SYS, errno, "map the state of the probes: %m");
	}
	return 0;
}

static void close_set(struct set *set)
{
	for (size_t i = 0; i < N_ELEMENTS(map_rows); i++)
		mr_close(*map_fd(set, &map_rows[i]));
	if (set->probes)
		munmap(set->probes, set->probes_size);
	mr_close(set->btf_fd);
}

/* --- objects ---------------------------------------------------------------------------- */

/* libbpf's last warning: its errno alone often says little. */
static char last_warning[200];

__attribute__((format(printf, 2, 0))) static int note_warning(enum libbpf_print_level level,
							      const char *fmt, va_list ap)
{
	if (level == LIBBPF_WARN && !strstr(fmt, "LOG"))
		vsnprintf(last_warning, sizeof(last_warning), fmt, ap);
	return 0;
}

static void note_state(struct set *set, size_t row, enum mr_wire_state state, int errnum,
		       const char *why)
{
	struct mr_wire_probe *p = &set->probes[row];

	p->errnum = errnum;
	snprintf(p->why, sizeof(p->why), "%.119s", why);
	p->state = state;
}

static void refuse_object(struct set *set, const char *object, int errnum, const char *why)
{
	size_t n;
	const struct mr_probe_row *rows = mr_probe_rows(&n);

	for (size_t i = 0; i < n; i++)
		if (strcmp(rows[i].object, object) == 0)
			note_state(set, i, MR_PROBE_OFF, errnum, why);
}

static int share_maps(struct set *set, struct bpf_object *obj)
{
	for (size_t i = 0; i < N_ELEMENTS(map_rows); i++) {
		struct bpf_map *map = bpf_object__find_map_by_name(obj, map_rows[i].name);
		int r = map ? bpf_map__reuse_fd(map, *map_fd(set, &map_rows[i])) : 0;

		if (r < 0)
			return r;
	}
	return 0;
}

static int pin_link(struct bpf_program *prog, const struct mr_probe_row *row, const char *dir,
		    char *why, size_t why_size)
{
	struct bpf_link *link;
	char path[MR_PINS_PATH_MAX];
	int r = mr_pins_join(path, dir, row->program, NULL);

	if (r < 0)
		return r;
	if (row->kind != MR_PROBE_RAW_TP && row->kind != MR_PROBE_RAW_TP_IO)
		return bpf_program__pin(prog, path);
	link = bpf_program__attach_raw_tracepoint(prog, row->target);
	if (!link) {
		r = -errno;
		snprintf(why, why_size, "attach to %s: %s", row->target, strerror(-r));
		return r;
	}
	r = bpf_link__pin(link, path);
	bpf_link__destroy(link);
	return r;
}

/* Is it one of the programs that a row of functions stands for? */
static bool is_called(const struct bpf_program *prog, const char *name)
{
	const char *own = bpf_program__name(prog);
	size_t n = strlen(name);

	return strncmp(own, name, n) == 0 && (own[n] == '\0' || own[n] == '_');
}

/* The links of all programs of a row of functions. */
static int pin_functions(struct bpf_object *obj, const struct mr_probe_row *row, const char *dir,
			 char *why, size_t why_size)
{
	struct bpf_program *prog;
	int r = 0, pinned = 0;

	bpf_object__for_each_program(prog, obj)
	{
		char path[MR_PINS_PATH_MAX];
		struct bpf_link *link;

		if (!is_called(prog, row->program) || !bpf_program__autoload(prog) || r < 0)
			continue;
		link = bpf_program__attach(prog);
		if (!link) {
			r = -errno;
			snprintf(why, why_size, "attach %s: %s", bpf_program__name(prog),
				 strerror(-r));
			continue;
		}
		r = mr_pins_join(path, dir, bpf_program__name(prog), NULL);
		if (r == 0)
			r = bpf_link__pin(link, path);
		bpf_link__destroy(link);
		pinned += r == 0;
	}
	/* All of it was left out: what it counts would be 0 whatever happens. */
	if (r == 0 && pinned == 0) {
		snprintf(why, why_size, "the kernel has none of its functions");
		return -ENOENT;
	}
	return r;
}

/* A function that this kernel was built without is called by nobody. */
static void leave_out_functions(struct bpf_object *obj)
{
	static const char entry[] = "fentry/";
	struct btf *kernel = NULL;
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, obj)
	{
		const char *section = bpf_program__section_name(prog);

		if (strncmp(section, entry, sizeof(entry) - 1) != 0)
			continue;
		if (!kernel)
			kernel = btf__load_vmlinux_btf();
		if (!kernel)
			return;
		if (btf__find_by_name_kind(kernel, section + sizeof(entry) - 1, BTF_KIND_FUNC) < 0)
			bpf_program__set_autoload(prog, false);
	}
	btf__free(kernel);
}

static int pin_row(struct bpf_object *obj, const struct mr_probe_row *row, const char *dir,
		   char *why, size_t why_size)
{
	struct bpf_program *prog;

	if (row->kind == MR_PROBE_FENTRY)
		return pin_functions(obj, row, dir, why, why_size);
	prog = bpf_object__find_program_by_name(obj, row->program);
	return prog ? pin_link(prog, row, dir, why, why_size) : -ENOENT;
}

/* The first way to a fact that works is the only one. */
static bool is_on(const struct set *set, const struct mr_probe_row *rows, size_t row)
{
	for (size_t i = 0; i < row; i++)
		if (strcmp(rows[i].name, rows[row].name) == 0 &&
		    set->probes[i].state == MR_PROBE_ON)
			return true;
	return false;
}

static void attach_object(struct set *set, struct bpf_object *obj, const char *object,
			  const char *dir)
{
	size_t n;
	const struct mr_probe_row *rows = mr_probe_rows(&n);

	for (size_t i = 0; i < n; i++) {
		char why[120] = "";
		int r;

		if (strcmp(rows[i].object, object) != 0)
			continue;
		if (is_on(set, rows, i)) {
			note_state(set, i, MR_PROBE_OFF, 0, "not needed");
			continue;
		}
		r = pin_row(obj, &rows[i], dir, why, sizeof(why));
		note_state(set, i, r < 0 ? MR_PROBE_OFF : MR_PROBE_ON, -r, why);
	}
}

/* A hook of control groups is there for runs with a network: who wants it names it. */
static bool is_row_wanted(const struct mr_probe_row *row, size_t i,
			  const struct mr_probe_choice *choice)
{
	return (row->level <= choice->level && row->kind != MR_PROBE_CGROUP) || choice->on >> i & 1;
}

static bool is_wanted(const char *object, const struct mr_probe_choice *choice)
{
	size_t n;
	const struct mr_probe_row *rows = mr_probe_rows(&n);

	for (size_t i = 0; i < n; i++)
		if (strcmp(rows[i].object, object) == 0 && is_row_wanted(&rows[i], i, choice))
			return true;
	return false;
}

/* Of the types that what is wanted here names: the rest is for whoever wants it later. */
static int write_btf(int fd, const struct mr_probe_choice *choice, struct mr_error *err)
{
	struct btf *btfs[16] = { NULL };
	size_t n = 0;
	int r;

	for (size_t i = 0; i < mr_n_bpf_objects && n < N_ELEMENTS(btfs); i++) {
		const struct mr_bpf_object *o = &mr_bpf_objects[i];
		struct bpf_object *obj;
		uint32_t size = 0;
		const void *raw;

		if (!is_wanted(o->name, choice))
			continue;
		obj = bpf_object__open_mem(o->start, (size_t)(o->end - o->start), NULL);
		raw = obj ? btf__raw_data(bpf_object__btf(obj), &size) : NULL;
		btfs[n] = raw ? btf__new(raw, size) : NULL;
		n += btfs[n] != NULL;
		bpf_object__close(obj);
	}
	r = mr_minbtf_make_native(btfs, n, fd, err);
	for (size_t i = 0; i < n; i++)
		btf__free(btfs[i]);
	return r;
}

/* Another process, on another processor, that ends with this one; -1: there is none. */
static pid_t fork_helper(void)
{
	pid_t parent = getpid(), pid = fork();

	if (pid == 0 && (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent))
		_exit(1);
	return pid;
}

/* Whether it did all that it was to do. */
static bool wait_for_helper(pid_t pid)
{
	return pid > 0 && mr_wait(pid) == 0;
}

/* The kernel's types are looked through while the maps are made. */
static void begin_btf(struct set *set, const struct mr_probe_choice *choice)
{
	set->btf_fd = memfd_create("menace-btf", MFD_CLOEXEC);
	if (set->btf_fd < 0)
		return;
	set->btf_helper = fork_helper();
	if (set->btf_helper == 0)
		_exit(write_btf(set->btf_fd, choice, NULL) < 0);
}

/* Without it libbpf reads the kernel's types itself, or says what it lacks. */
static void finish_btf(struct set *set)
{
	if (wait_for_helper(set->btf_helper))
		snprintf(set->btf_path, sizeof(set->btf_path), "/proc/self/fd/%d", set->btf_fd);
	set->btf_helper = -1;
}

static struct bpf_object *open_object(struct set *set, const struct mr_bpf_object *o)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = o->name);

	if (set->btf_path[0])
		opts.btf_custom_path = set->btf_path;
	return bpf_object__open_mem(o->start, (size_t)(o->end - o->start), &opts);
}

/* Whoever makes the folder `dir` loads the object; 1: another does, or did. */
static int claim_object(const struct set *set, const char *object, const char *dir,
			struct mr_error *err)
{
	if (mkdir(dir, 0700) < 0)
		return errno == EEXIST ? 1
				       : mr_err(err, MR_E_SYS, errno, "make folder %s: %m", dir);
	if (!exists(set->path, object))
		return 0;
	return rmdir(dir) < 0 ? mr_err(err, MR_E_SYS, errno, "remove folder %s: %m", dir) : 1;
}

/* Load one object and pin what can be attached, as DIR/NAME. */
static int load_object(struct set *set, const struct mr_bpf_object *o, struct mr_error *err)
{
	char dir[MR_PINS_PATH_MAX], fresh[64];
	struct bpf_object *obj;
	int r;

	snprintf(fresh, sizeof(fresh), MR_PINS_NEW "%.40s", o->name);
	r = mr_pins_join(dir, set->path, fresh, err);
	if (r == 0)
		r = claim_object(set, o->name, dir, err);
	if (r != 0)
		return r < 0 ? r : 0;
	last_warning[0] = '\0';
	obj = open_object(set, o);
	r = obj ? share_maps(set, obj) : -errno;
	if (r == 0)
		leave_out_functions(obj);
	if (r == 0)
		r = bpf_object__load(obj);
	if (r == 0)
		attach_object(set, obj, o->name, dir);
	else
		refuse_object(set, o->name, -r, last_warning);
	bpf_object__close(obj);
	return publish(set->path, o->name, err);
}

static int mark_ready(const struct set *set, enum mr_probe_level level, struct mr_error *err)
{
	int r = 0;

	for (enum mr_probe_level l = MR_PROBE_LEVEL_BASIC; r == 0 && l <= level; l++) {
		char path[MR_PINS_PATH_MAX], name[32];

		snprintf(name, sizeof(name), "ready-%s", mr_probe_level_name(l));
		r = mr_pins_join(path, set->path, name, err);
		if (r == 0)
			r = make_dir(path, err);
	}
	return r;
}

static const struct mr_bpf_object *find_object(const char *name)
{
	for (size_t i = 0; i < mr_n_bpf_objects; i++)
		if (strcmp(mr_bpf_objects[i].name, name) == 0)
			return &mr_bpf_objects[i];
	mr_assert(!"a row without its object");
	return NULL;
}

/* Is there a fact to which none of those loaded so far is a way? */
static bool is_needed(const struct set *set, const char *object)
{
	size_t n;
	const struct mr_probe_row *rows = mr_probe_rows(&n);

	for (size_t i = 0; i < n; i++)
		if (strcmp(rows[i].object, object) == 0 && !is_on(set, rows, i))
			return true;
	return false;
}

/* An empty folder says that it was looked at. */
static int leave_out_object(struct set *set, const char *object, struct mr_error *err)
{
	char path[MR_PINS_PATH_MAX];
	int r = mr_pins_join(path, set->path, object, err);

	refuse_object(set, object, 0, "not needed");
	return r < 0 ? r : make_dir(path, err);
}

/* Is it alone with its facts?  Of several ways to one the first that works is taken, so there the
 * order matters. */
static bool is_apart(const char *object)
{
	size_t n;
	const struct mr_probe_row *rows = mr_probe_rows(&n);

	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n && strcmp(rows[i].object, object) == 0; j++)
			if (strcmp(rows[j].name, rows[i].name) == 0 &&
			    strcmp(rows[j].object, object) != 0)
				return false;
	return true;
}

enum order { FROM_FRONT, FROM_BACK };

/* What nobody else loads at this moment; from the back only what is apart. */
static int load_in_order(struct set *set, const struct mr_probe_choice *choice, enum order order,
			 struct mr_error *err)
{
	size_t n;
	const struct mr_probe_row *rows = mr_probe_rows(&n);
	int r = 0;

	for (size_t k = 0; r == 0 && k < n; k++) {
		size_t i = order == FROM_FRONT ? k : n - 1 - k;
		const char *object = rows[i].object;

		if (!mr_probe_is_first_of_object(i) || !is_wanted(object, choice) ||
		    exists(set->path, object) || (order == FROM_BACK && !is_apart(object)))
			continue;
		r = is_needed(set, object) ? load_object(set, find_object(object), err)
					   : leave_out_object(set, object, err);
	}
	return r;
}

static bool is_any_missing(const struct set *set, const struct mr_probe_choice *choice)
{
	size_t n;
	const struct mr_probe_row *rows = mr_probe_rows(&n);

	for (size_t i = 0; i < n; i++)
		if (is_wanted(rows[i].object, choice) && !exists(set->path, rows[i].object))
			return true;
	return false;
}

/* The kernel's looking through the programs is most of the time: a helper begins at the other end of
 * them.  What is left undone, for whatever reason, is done afterwards. */
static int load_missing(struct set *set, const struct mr_probe_choice *choice, struct mr_error *err)
{
	pid_t helper = fork_helper();
	int r;

	if (helper == 0)
		_exit(load_in_order(set, choice, FROM_BACK, NULL) < 0);
	r = load_in_order(set, choice, FROM_FRONT, err);
	if (!wait_for_helper(helper) && r == 0)
		r = mr_sets_remove_half_made(set->path, MR_PINS_NEW, err);
	return r < 0 ? r : load_in_order(set, choice, FROM_FRONT, err);
}

static int complete_set(struct set *set, const struct mr_probe_choice *choice, struct mr_error *err)
{
	int r;

	if (!exists(set->root, set->name))
		begin_btf(set, choice);
	r = open_set(set, err);
	if (r == 0)
		r = mr_sets_remove_half_made(set->path, MR_PINS_NEW, err);
	if (r == 0 && is_any_missing(set, choice)) {
		if (set->btf_fd < 0)
			begin_btf(set, choice);
		finish_btf(set);
		r = load_missing(set, choice, err);
	}
	finish_btf(set);
	return r < 0 ? r : mark_ready(set, choice->level, err);
}

int mr_loader_load(const struct mr_probe_choice *choice, struct mr_error *err)
{
	struct set set = { .runs = -1,
			   .slots = -1,
			   .owners = -1,
			   .control = -1,
			   .rings = -1,
			   .calls = -1,
			   .links = -1,
			   .matrix = -1,
			   .btf_fd = -1,
			   .btf_helper = -1 };
	struct mr_error left = MR_ERROR_INIT;
	mr_auto_close int lock = -1;
	int r;

	libbpf_set_print(note_warning);
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	r = find_root(set.root, err);
	mr_pins_set_name(set.name);
	if (r == 0)
		r = mr_pins_join(set.path, set.root, set.name, err);
	if (r == 0)
		r = mr_sets_lock(set.root, &lock, err);
	if (r == 0)
		r = mr_sets_remove_half_made(set.root, MR_PINS_NEW MR_PINS_PREFIX, err);
	if (r == 0)
		r = complete_set(&set, choice, err);
	/* Who loads pays; a set that is in the way of nobody is no reason to fail. */
	if (r == 0 &&
	    mr_sets_purge(set.root, set.name, MR_PATIENCE_S(PROBES_IDLE), NULL, &left) < 0)
		mr_log_warn("%s", left.msg);
	close_set(&set);
	return r < 0 ? mr_err_wrap(err, r, "load probes") : 0;
}
