/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause */
/*
 * Which files does it write, and whose secrets does it read?
 *
 * Where the kernel asks its security modules whether a file may be opened: the file is found by
 * then, and its owner and mode allow it.  Paths are as the sandbox sees them.
 */
#include "bpf/common.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct file___opened {
	unsigned int f_mode;
	struct path f_path;
	struct inode *f_inode;
};
typedef struct {
	unsigned int val;
} kuid_t;
struct inode___opened {
	unsigned short i_mode;
	kuid_t i_uid;
};
struct super_block___opened {
	unsigned long s_magic;
};
struct cred {
	kuid_t fsuid;
};
struct task_struct___opened {
	struct cred *cred;
};
#pragma clang attribute pop

#define FMODE_WRITE 2
#define S_IFMT 0170000
#define S_IFREG 0100000
#define PROC_SUPER_MAGIC 0x9fa0

static __always_inline bool same(const char *text, const char *with, u32 size)
{
	for (u32 i = 0; i < size; i++)
		if (text[i] != with[i])
			return false;
	return true;
}

#define BEGINS(text, with) same(text, with, sizeof(with) - 1)
#define IS(text, word) same(text, word, sizeof(word))

struct opened {
	char path[MR_WIRE_PATH_MAX];
	char name[16], parent[16];
	long path_bytes;
};

/* Passwords and keys wherever they lie, what belongs to somebody else in a home, and the memory of
 * processes. */
static __always_inline bool is_secret(const struct opened *o, struct inode *inode)
{
	struct inode___opened *owned = (void *)inode;
	struct task_struct___opened *task = (void *)bpf_get_current_task();
	struct super_block___opened *sb = (void *)BPF_CORE_READ(inode, i_sb);
	u32 owner = BPF_CORE_READ(owned, i_uid.val);

	if (BPF_CORE_READ(sb, s_magic) == PROC_SUPER_MAGIC)
		return IS(o->name, "mem") || IS(o->name, "kcore");
	if (BEGINS(o->path, "/etc/shadow") || BEGINS(o->path, "/etc/gshadow") ||
	    BEGINS(o->path, "/etc/sudoers") || BEGINS(o->path, "/etc/ssh/ssh_host_"))
		return true;
	if (IS(o->parent, ".ssh") || IS(o->parent, ".gnupg") || IS(o->parent, ".aws"))
		return true;
	return (BEGINS(o->path, "/home/") || BEGINS(o->path, "/root/")) &&
	       owner != BPF_CORE_READ(task, cred, fsuid.val);
}

static __always_inline void hand_over(const struct opened *o, struct inode *inode, u32 flags,
				      const struct served *s)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	void *ring = ring_of(s, MR_RING_EVENTS, MR_WIRE_OPEN);
	struct mr_wire_open *e = ring ? bpf_ringbuf_reserve(ring, sizeof(*e), 0) : NULL;

	if (!e) {
		if (ring)
			add(&s->slot->lost_full[MR_WIRE_OPEN], 1);
		return;
	}
	fill(&e->h, MR_WIRE_OPEN, sizeof(*e), s, task);
	e->inode = BPF_CORE_READ(inode, i_ino);
	e->device = BPF_CORE_READ(inode, i_sb, s_dev);
	e->flags = flags;
	e->path_bytes = o->path_bytes > 0 ? (u32)o->path_bytes : 0;
	e->reserved = 0;
	BPF_CORE_READ_STR_INTO(&e->comm, task, comm);
	__builtin_memcpy(e->path, o->path, sizeof(e->path));
	bpf_ringbuf_submit(e, wake_up(ring, MR_RING_EVENTS));
}

static __always_inline void read_names(struct opened *o, struct file___opened *file)
{
	struct dentry *dentry = BPF_CORE_READ(file, f_path.dentry);

	bpf_probe_read_kernel_str(o->name, sizeof(o->name), BPF_CORE_READ(dentry, d_name.name));
	bpf_probe_read_kernel_str(o->parent, sizeof(o->parent),
				  BPF_CORE_READ(dentry, d_parent, d_name.name));
	o->path_bytes = bpf_d_path(&file->f_path, o->path, sizeof(o->path));
}

SEC("fentry/security_file_open")
int on_open(u64 *ctx)
{
	struct file___opened *file = (void *)ctx[0];
	struct task_struct *task = (void *)bpf_get_current_task();
	struct inode *inode = file->f_inode;
	struct inode___opened *kind = (void *)inode;
	struct opened o = {};
	struct served s;
	u32 flags = 0;
	u64 told;

	if (!serve(&s, MR_ROW_on_open) || !is_filtered(task))
		return 0;
	COUNT(&s, files_opened, 1);
	read_names(&o, file);
	if (BPF_CORE_READ(file, f_mode) & FMODE_WRITE &&
	    (BPF_CORE_READ(kind, i_mode) & S_IFMT) == S_IFREG) {
		COUNT(&s, files_opened_to_write, 1);
		flags |= MR_WIRE_OPEN_WRITE;
	}
	if (is_secret(&o, inode)) {
		COUNT(&s, secrets_opened, 1);
		flags |= MR_WIRE_OPEN_SECRET;
	}
	told = s.slot->emitted[MR_WIRE_OPEN];
	if (flags && told < MR_WIRE_OPENS_TOLD)
		hand_over(&o, inode, flags, &s);
	return served(&s);
}
