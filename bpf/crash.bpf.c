/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause */
/*
 * What did it die of?
 *
 * Signals that end a process by default, at the moment they are delivered: code,
 * address, the stack as the frame pointers tell it, and which files the frames lie in:
 * a moment later the process has no memory that could be asked.
 */
#include "bpf/common.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct sigaction {
	void *sa_handler;
};
struct k_sigaction {
	struct sigaction sa;
};
struct kernel_siginfo {
	int si_signo, si_code;
	union {
		struct {
			void *_addr;
		} _sigfault;
	} _sifields;
};
#pragma clang attribute pop

#define BIT(sig) (1U << (sig))
/* SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS: of the program's own making */
#define CRASH_SIGNALS (BIT(4) | BIT(5) | BIT(6) | BIT(7) | BIT(8) | BIT(11) | BIT(31))
#define FAULT_SIGNALS (BIT(4) | BIT(5) | BIT(7) | BIT(8) | BIT(11))

#define NAMES_MAX 16
#define NAME_MAX 64
#define LAST_PLACE 127 /* where a name may begin */

struct crash {
	struct mr_wire_crash e;
	struct mr_wire_module modules[MR_WIRE_MODULES];
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct crash);
} crash_scratch SEC(".maps");

/* The name under which the file system itself knows the inode; what a mount shows may be made up. */
static __always_inline struct dentry *dentry_of(struct file *file)
{
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	char *alias = (char *)BPF_CORE_READ(inode, i_dentry.first);

	if (!alias)
		return BPF_CORE_READ(file, f_path.dentry);
	return (void *)(alias - bpf_core_field_offset(struct dentry, d_u));
}

/* On the way from a file up to its file system's root. */
struct climb {
	u64 entry;
	struct mr_wire_module *m;
	u32 at;
	u32 arrived; /* at the root */
};

/* One step: 0 goes on, 1 was the last.  A callback, so that the verifier looks at it once. */
static long climb_one(u32 i, struct climb *c)
{
	struct dentry *d = (void *)c->entry, *parent = BPF_CORE_READ(d, d_parent);
	u32 at = c->at;
	long n;

	(void)i;
	if (parent == d) {
		c->arrived = 1;
		return 1;
	}
	if (at > LAST_PLACE)
		return 1;
	/* Older verifiers forget the comparison, and the compiler would leave the mask out. */
	barrier_var(at);
	n = bpf_probe_read_kernel_str(&c->m->path[at & LAST_PLACE], NAME_MAX,
				      BPF_CORE_READ(d, d_name.name));
	if (n <= 0 || n >= NAME_MAX)
		return 1;
	c->at = at + (u32)n;
	c->entry = (u64)parent;
	return 0;
}

static __always_inline void read_path(struct dentry *d, struct mr_wire_module *m)
{
	struct climb c = { .entry = (u64)d, .m = m };

	_Static_assert(LAST_PLACE + 1 + NAME_MAX == MR_WIRE_MODULE_PATH, "room for a name");
	_Static_assert((LAST_PLACE & (LAST_PLACE + 1)) == 0, "a mask");
	bpf_loop(NAMES_MAX, climb_one, &c, 0);
	if (!c.arrived)
		m->flags |= MR_WIRE_MODULE_CUT;
	m->path_bytes = c.at;
}

/* Nodes of the tree of mappings (a maple tree): a pointer with the node's kind in it. */
#define NODE_OF(entry) ((entry) & ~255ULL)
#define KIND_OF(entry) ((u32)((entry) >> 3 & 15))
#define KIND_LEAF 1 /* and below: what its slots hold are the mappings */
#define KIND_ARANGE 3
#define PIVOTS_MAX 15
#define DEPTH_MAX 6

/* From here on what is neither inlined nor static is looked at by the verifier once, and not for each
 * way or each time it is come to. */

__noinline u64 read_slot(u64 entry, u32 i)
{
	u64 at = KIND_OF(entry) == KIND_ARANGE ? bpf_core_field_offset(struct maple_arange_64, slot)
					       : bpf_core_field_offset(struct maple_range_64, slot);
	u64 slot = 0;

	bpf_probe_read_kernel(&slot, sizeof(slot), (void *)(NODE_OF(entry) + at + 8ULL * i));
	return slot;
}

/* The slot of a node that an address falls to: pivots are last addresses, 0 is the end of them. */
__noinline int find_slot(u64 entry, u64 address)
{
	bool is_arange = KIND_OF(entry) == KIND_ARANGE;
	u64 at = is_arange ? bpf_core_field_offset(struct maple_arange_64, pivot)
			   : bpf_core_field_offset(struct maple_range_64, pivot);
	u32 n = is_arange ? 9 : PIVOTS_MAX, i;
	u64 pivots[PIVOTS_MAX];

	if (bpf_probe_read_kernel(pivots, sizeof(pivots), (void *)(NODE_OF(entry) + at)))
		return -1;
	for (i = 0; i < PIVOTS_MAX; i++)
		if (i == n || address <= pivots[i] || (i > 0 && !pivots[i]))
			break;
	return (int)i;
}

/* On the way down to what is mapped at an address. */
struct search {
	u64 entry, address;
	u32 arrived;
};

static long descend_one(u32 i, struct search *s)
{
	u64 entry = s->entry;
	int slot;

	(void)i;
	if (entry <= 4095)
		return 1;
	slot = find_slot(entry, s->address);
	if (slot < 0)
		return 1;
	s->entry = read_slot(entry, (u32)slot);
	if (KIND_OF(entry) > KIND_LEAF)
		return 0;
	s->arrived = 1;
	return 1;
}

/* What is mapped at an address.  The helper for this can be asked once only where, as here, interrupts
 * are off; and it would fail whenever another thread changes the mappings. */
__noinline u64 mapping_at(u64 root, u64 address)
{
	struct search s = { .entry = root, .address = address };

	bpf_loop(DEPTH_MAX, descend_one, &s, 0);
	return s.arrived ? s.entry : 0;
}

__noinline int note_module(u64 mapping)
{
	struct crash *c = bpf_map_lookup_elem(&crash_scratch, &(u32){ 0 });
	struct vm_area_struct *vma = (void *)mapping;
	struct file *file = BPF_CORE_READ(vma, vm_file);
	struct mr_wire_module *m;

	if (!c || c->e.n_modules >= MR_WIRE_MODULES)
		return 0;
	m = &c->modules[c->e.n_modules];
	m->start = BPF_CORE_READ(vma, vm_start);
	m->end = BPF_CORE_READ(vma, vm_end);
	m->offset = 0;
	m->inode = 0;
	m->device = 0;
	m->flags = 0;
	m->path_bytes = 0;
	if (file) {
		m->offset = BPF_CORE_READ(vma, vm_pgoff) << 12;
		m->inode = BPF_CORE_READ(file, f_inode, i_ino);
		m->device = BPF_CORE_READ(file, f_inode, i_sb, s_dev);
		if (!BPF_CORE_READ(file, f_inode, i_nlink))
			m->flags |= MR_WIRE_MODULE_NAMELESS;
		read_path(dentry_of(file), m);
	}
	c->e.n_modules++;
	return 0;
}

__noinline int is_noted(u64 address)
{
	struct crash *c = bpf_map_lookup_elem(&crash_scratch, &(u32){ 0 });

	for (u32 i = 0; c && i < MR_WIRE_MODULES && i < c->e.n_modules; i++)
		if (address >= c->modules[i].start && address < c->modules[i].end)
			return 1;
	return 0;
}

static long note_frame(u32 i, u64 *root)
{
	struct crash *c = bpf_map_lookup_elem(&crash_scratch, &(u32){ 0 });
	struct vm_area_struct *vma;
	u64 address;

	if (!c || i >= MR_WIRE_FRAMES || i >= c->e.n_frames)
		return 1;
	address = c->e.frames[i];
	if (is_noted(address))
		return 0;
	vma = (void *)mapping_at(*root, address);
	if (vma && BPF_CORE_READ(vma, vm_start) <= address && address < BPF_CORE_READ(vma, vm_end))
		note_module((u64)vma);
	return 0;
}

static __always_inline void note_modules(struct task_struct *task)
{
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	u64 root;

	if (!bpf_core_field_exists(mm->mm_mt))
		return;
	root = (u64)BPF_CORE_READ(mm, mm_mt.ma_root);
	bpf_loop(MR_WIRE_FRAMES, note_frame, &root, 0);
}

static __always_inline void read_frames(void *ctx, struct crash *c, const struct served *s,
					struct task_struct *task)
{
	long n;

	__builtin_memset(c->e.frames, 0, sizeof(c->e.frames));
	n = bpf_get_stack(ctx, c->e.frames, sizeof(c->e.frames), BPF_F_USER_STACK);
	if (n < 0) {
		add(&s->slot->failures, 1);
		n = 0;
	}
	c->e.n_frames = (u32)n / 8;
	c->e.n_modules = 0;
	note_modules(task);
}

SEC("raw_tp/signal_deliver")
int on_signal(struct bpf_raw_tracepoint_args *ctx)
{
	u32 sig = (u32)ctx->args[0];
	struct kernel_siginfo *info = (void *)ctx->args[1];
	struct k_sigaction *action = (void *)ctx->args[2];
	struct task_struct *task = (void *)bpf_get_current_task();
	struct served s;
	struct crash *c;
	u64 size;

	if (sig > 31 || !(CRASH_SIGNALS & BIT(sig)) || BPF_CORE_READ(action, sa.sa_handler))
		return 0;
	if (!serve(&s, MR_ROW_on_signal))
		return 0;
	COUNT(&s, crashes, 1);
	c = bpf_map_lookup_elem(&crash_scratch, &(u32){ 0 });
	if (!c)
		return 0;
	c->e.signal = sig;
	c->e.code = BPF_CORE_READ(info, si_code);
	c->e.address = 0;
	/* A code over 0 is the kernel's; only there the union is an address. */
	if (c->e.code > 0 && (FAULT_SIGNALS & BIT(sig)))
		c->e.address = (u64)BPF_CORE_READ(info, _sifields._sigfault._addr);
	BPF_CORE_READ_STR_INTO(&c->e.comm, task, comm);
	read_frames(ctx, c, &s, task);
	size = sizeof(c->e) + c->e.n_modules * sizeof(c->modules[0]);
	if (size > MR_WIRE_CRASH_MAX)
		size = MR_WIRE_CRASH_MAX;
	fill(&c->e.h, MR_WIRE_CRASH, size, &s, task);
	emit(&s, MR_RING_VITAL, MR_WIRE_CRASH, c, size);
	return served(&s);
}
