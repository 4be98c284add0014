/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Minimal BTF
 *
 * One pass over the kernel's types notes where every 16th begins, and which structs an
 * object may name; those that it does are then copied, with the members it names.  A pointer
 * becomes a pointer to nothing: a relocation starts again at each one.  What is embedded is
 * copied the same way, or whole when the object has no name for it.
 */
#include "bpf/minbtf.h"

#include <bpf/btf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/str.h"

#define KERNEL_MAX (64 * 1024 * 1024)
#define DEPTH_MAX 32
#define MARK_EVERY 16 /* of a hundred thousand types some dozens are looked for by their ids */

/* A struct or union that an object names. */
struct wish {
	const char *name;
	size_t len; /* of the kernel's name for it */
	const struct btf *btf;
	const struct btf_type *type;
};

/* Beginnings of the names of all structs of the objects, as a filter that costs one look: most types
 * fail it. */
struct filter {
	uint64_t bits[1024];
};

struct found {
	uint32_t id, at; /* place in types */
};

struct scan {
	const char *strings;
	size_t strings_size;
	const uint8_t *types;
	size_t types_size;
	uint32_t *at; /* place in types of each MARK_EVERY-th id, from 1 on */
	uint32_t n; /* ids; 0 is void */
	struct found *found; /* structs that some object may name */
	size_t n_found;
	uint32_t *copied; /* type id -> id in out, 0: not copied */
	struct wish *wishes;
	size_t n_wishes;
	struct filter filter; /* of their names */
	struct btf *out;
	int pointer; /* id of void * in out, 0: none yet */
};

/* A struct named by an object; its first `len` bytes are the kernel's name for it. */
static size_t essential_len(const char *name)
{
	const char *flavour = strstr(name, "___");

	return flavour && flavour != name ? (size_t)(flavour - name) : strlen(name);
}

static bool is_aggregate(const struct btf_type *t)
{
	return btf_kind(t) == BTF_KIND_STRUCT || btf_kind(t) == BTF_KIND_UNION;
}

static bool has_member(const struct btf *btf, const struct btf_type *t, const char *member)
{
	const struct btf_member *m = btf_members(t);

	for (int i = 0; i < btf_vlen(t); i++)
		if (strcmp(btf__name_by_offset(btf, m[i].name_off), member) == 0)
			return true;
	return false;
}

/* Objects include the same headers: most of what one names another has named the same way. */
static bool is_the_same(const struct wish *a, const struct wish *b)
{
	if (a->len != b->len || strcmp(a->name, b->name) != 0 ||
	    btf_vlen(a->type) != btf_vlen(b->type))
		return false;
	for (int i = 0; i < btf_vlen(a->type); i++)
		if (strcmp(btf__name_by_offset(a->btf, btf_members(a->type)[i].name_off),
			   btf__name_by_offset(b->btf, btf_members(b->type)[i].name_off)) != 0)
			return false;
	return true;
}

static void add_wish(struct scan *s, const struct wish *wish)
{
	for (size_t i = 0; i < s->n_wishes; i++)
		if (is_the_same(&s->wishes[i], wish))
			return;
	s->wishes[s->n_wishes++] = *wish;
}

static void note_wishes(struct scan *s, struct btf *const *objects, size_t n_objects)
{
	size_t cap = 0;

	for (size_t o = 0; o < n_objects; o++)
		cap += btf__type_cnt(objects[o]);
	s->wishes = mr_str_alloc((cap + 1) * sizeof(*s->wishes));
	for (size_t o = 0; o < n_objects; o++) {
		const struct btf *btf = objects[o];
		const uint32_t n = btf__type_cnt(btf);

		for (uint32_t id = 1; id < n; id++) {
			const struct btf_type *t = btf__type_by_id(btf, id);
			const char *name = btf__name_by_offset(btf, t->name_off);

			if (is_aggregate(t) && name[0])
				add_wish(s, &(struct wish){ name, essential_len(name), btf, t });
		}
	}
}

/* Does any object name this struct and, unless member is NULL, this member of it? */
static bool is_wanted(const struct scan *s, const char *name, const char *member)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < s->n_wishes; i++) {
		const struct wish *w = &s->wishes[i];

		if (w->len == len && memcmp(w->name, name, len) == 0 &&
		    (!member || has_member(w->btf, w->type, member)))
			return true;
	}
	return false;
}

/* Of the first two bytes, of which the second may be the NUL. */
static unsigned int beginning_of(const char *name)
{
	return (uint8_t)name[0] | (unsigned int)(uint8_t)name[1] << 8;
}

static void make_filter(struct scan *s)
{
	for (size_t i = 0; i < s->n_wishes; i++) {
		const struct wish *w = &s->wishes[i];
		/* Of a flavour of a name with one letter that is all of it. */
		unsigned int begin = w->len > 1 ? beginning_of(w->name) : (uint8_t)w->name[0];

		s->filter.bits[begin / 64] |= 1ULL << (begin % 64);
	}
}

/* name: not empty */
static bool may_be_wanted(const struct scan *s, const char *name)
{
	unsigned int begin = beginning_of(name);

	return s->filter.bits[begin / 64] >> (begin % 64) & 1;
}

/* --- reading the kernel's types -------------------------------------------------- */

static const char *name_at(const struct scan *s, uint32_t offset)
{
	return offset < s->strings_size ? s->strings + offset : "";
}

/* Bytes after struct btf_type, or -1 for a kind nobody knows. */
static ssize_t tail_size(const struct btf_type *t)
{
	static const uint8_t each[] = {
		[BTF_KIND_STRUCT] = sizeof(struct btf_member),
		[BTF_KIND_UNION] = sizeof(struct btf_member),
		[BTF_KIND_ENUM] = sizeof(struct btf_enum),
		[BTF_KIND_FUNC_PROTO] = sizeof(struct btf_param),
		[BTF_KIND_DATASEC] = sizeof(struct btf_var_secinfo),
		[BTF_KIND_ENUM64] = sizeof(struct btf_enum64),
	};
	static const uint8_t once[] = {
		[BTF_KIND_INT] = sizeof(uint32_t),
		[BTF_KIND_ARRAY] = sizeof(struct btf_array),
		[BTF_KIND_VAR] = sizeof(struct btf_var),
		[BTF_KIND_DECL_TAG] = sizeof(struct btf_decl_tag),
		[BTF_KIND_ENUM64] = 0,
	};
	unsigned int kind = btf_kind(t);

	if (kind > BTF_KIND_ENUM64)
		return -1;
	return (ssize_t)each[kind] * btf_vlen(t) + once[kind];
}

static const struct btf_type *type_at(const struct scan *s, uint32_t id)
{
	const struct btf_type *t;

	if (!id || id >= s->n)
		return NULL;
	t = (const void *)(s->types + s->at[(id - 1) / MARK_EVERY]);
	for (uint32_t i = (id - 1) % MARK_EVERY; i > 0; i--)
		t = (const void *)((const uint8_t *)(t + 1) + tail_size(t));
	return t;
}

static void note_type(struct scan *s, const struct btf_type *t, size_t at)
{
	const char *name;

	if (!is_aggregate(t) || !t->name_off)
		return;
	name = name_at(s, t->name_off);
	if (name[0] && may_be_wanted(s, name))
		s->found[s->n_found++] = (struct found){ s->n, (uint32_t)at };
}

static int index_types(struct scan *s, struct mr_error *err)
{
	size_t cap = s->types_size / sizeof(struct btf_type) + 2, pos = 0;

	s->at = mr_str_alloc((cap / MARK_EVERY + 1) * sizeof(*s->at));
	s->found = mr_str_alloc(cap * sizeof(*s->found));
	s->n = 1;
	while (pos + sizeof(struct btf_type) <= s->types_size) {
		const struct btf_type *t = (const void *)(s->types + pos);
		ssize_t tail = tail_size(t);

		if (tail < 0 || (size_t)tail > s->types_size - pos - sizeof(*t))
			return mr_err(err, MR_E_KERNEL, EINVAL,
				      "type %u of the kernel's BTF is of a kind unknown here",
				      s->n);
		if ((s->n - 1) % MARK_EVERY == 0)
			s->at[(s->n - 1) / MARK_EVERY] = (uint32_t)pos;
		note_type(s, t, pos);
		s->n++;
		pos += sizeof(*t) + (size_t)tail;
	}
	s->copied = mr_str_alloc(s->n * sizeof(*s->copied));
	return 0;
}

static int open_scan(struct scan *s, const uint8_t *bytes, size_t size, struct mr_error *err)
{
	struct btf_header h;

	if (size < sizeof(h))
		return mr_err(err, MR_E_KERNEL, EINVAL, "the kernel's BTF is cut short");
	memcpy(&h, bytes, sizeof(h));
	if (h.magic != BTF_MAGIC || h.hdr_len < sizeof(h) || h.hdr_len > size ||
	    h.type_off > size - h.hdr_len || h.type_len > size - h.hdr_len - h.type_off ||
	    h.str_off > size - h.hdr_len || h.str_len > size - h.hdr_len - h.str_off ||
	    !h.str_len || h.hdr_len % 4 || h.type_off % 4 ||
	    bytes[h.hdr_len + h.str_off + h.str_len - 1] != '\0')
		return mr_err(err, MR_E_KERNEL, EINVAL, "the kernel's BTF has a bad header");
	s->types = bytes + h.hdr_len + h.type_off;
	s->types_size = h.type_len;
	s->strings = (const char *)bytes + h.hdr_len + h.str_off;
	s->strings_size = h.str_len;
	return index_types(s, err);
}

/* --- copying ------------------------------------------------------------------------- */

struct copied_member {
	const char *name;
	int type;
	uint32_t bit_offset, bit_size;
};

static int copy_type(struct scan *s, uint32_t id, const char *parent, int depth);

/* In a struct with a name of its own only what is asked for; in one without, what is asked of the
 * struct around it; in one that no object has a name for (owner NULL), everything. */
static bool takes_member(const struct scan *s, const char *owner, const char *member)
{
	return !owner || !member[0] || is_wanted(s, owner, member);
}

static int copy_members(struct scan *s, const struct btf_type *t, const char *owner, int depth,
			struct copied_member *to)
{
	const struct btf_member *m = btf_members(t);
	int n = 0;

	for (int i = 0; i < btf_vlen(t); i++) {
		const char *name = name_at(s, m[i].name_off);
		int type;

		if (!takes_member(s, owner, name))
			continue;
		type = copy_type(s, m[i].type, name[0] ? NULL : owner, depth + 1);
		if (type < 0)
			return type;
		to[n++] = (struct copied_member){
			.name = name,
			.type = type,
			.bit_offset =
				btf_kflag(t) ? BTF_MEMBER_BIT_OFFSET(m[i].offset) : m[i].offset,
			.bit_size = btf_kflag(t) ? BTF_MEMBER_BITFIELD_SIZE(m[i].offset) : 0,
		};
	}
	return n;
}

static int copy_aggregate(struct scan *s, const struct btf_type *t, const char *parent, int depth)
{
	const char *name = name_at(s, t->name_off);
	const char *owner = !name[0] ? parent : is_wanted(s, name, NULL) ? name : NULL;
	mr_auto_free struct copied_member *members =
		mr_str_alloc(((size_t)btf_vlen(t) + 1) * sizeof(*members));
	int n = copy_members(s, t, owner, depth, members), id;

	if (n < 0)
		return n;
	id = btf_kind(t) == BTF_KIND_STRUCT ? btf__add_struct(s->out, name, t->size)
					    : btf__add_union(s->out, name, t->size);
	for (int i = 0; i < n && id > 0; i++) {
		int r = btf__add_field(s->out, members[i].name, members[i].type,
				       members[i].bit_offset, members[i].bit_size);

		if (r < 0)
			return r;
	}
	return id;
}

static int copy_array(struct scan *s, const struct btf_type *t, int depth)
{
	const struct btf_array *a = btf_array(t);
	int element = copy_type(s, a->type, NULL, depth + 1);
	int index = element < 0 ? element : copy_type(s, a->index_type, NULL, depth + 1);

	return index < 0 ? index : btf__add_array(s->out, index, element, a->nelems);
}

static int copy_pointer(struct scan *s)
{
	if (!s->pointer)
		s->pointer = btf__add_ptr(s->out, 0);
	return s->pointer;
}

static int copy_kind(struct scan *s, const struct btf_type *t, const char *parent, int depth)
{
	switch (btf_kind(t)) {
	case BTF_KIND_INT:
		return btf__add_int(s->out, name_at(s, t->name_off), t->size, btf_int_encoding(t));
	case BTF_KIND_PTR:
		return copy_pointer(s);
	case BTF_KIND_ARRAY:
		return copy_array(s, t, depth);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return copy_aggregate(s, t, parent, depth);
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
		return btf__add_enum(s->out, name_at(s, t->name_off), t->size);
	case BTF_KIND_FLOAT:
		return btf__add_float(s->out, name_at(s, t->name_off), t->size);
	default:
		return btf__add_struct(s->out, NULL, 0); /* nothing a program can read */
	}
}

/* parent: the named struct that an anonymous one is part of. */
static int copy_type(struct scan *s, uint32_t id, const char *parent, int depth)
{
	const struct btf_type *t = type_at(s, id);
	int new_id;

	if (!id)
		return 0;
	for (int i = 0; i < DEPTH_MAX && t && (btf_is_mod(t) || btf_is_typedef(t)); i++) {
		id = t->type;
		t = type_at(s, id);
	}
	if (!id)
		return 0;
	if (!t || depth > DEPTH_MAX)
		return -EINVAL;
	if (s->copied[id])
		return (int)s->copied[id];
	new_id = copy_kind(s, t, parent, depth);
	if (new_id > 0)
		s->copied[id] = (uint32_t)new_id;
	return new_id;
}

static int copy_wanted(struct scan *s, struct mr_error *err)
{
	for (size_t i = 0; i < s->n_found; i++) {
		const struct btf_type *t = (const void *)(s->types + s->found[i].at);
		const char *name = name_at(s, t->name_off);
		int r = is_wanted(s, name, NULL) ? copy_type(s, s->found[i].id, NULL, 0) : 0;

		if (r < 0)
			return mr_err(err, MR_E_KERNEL, -r, "struct %.60s of the kernel's BTF: %m",
				      name);
	}
	return 0;
}

static int write_out(const struct btf *out, int fd, struct mr_error *err)
{
	uint32_t size;
	const void *bytes = btf__raw_data(out, &size);
	int r;

	if (!bytes)
		return mr_err(err, MR_E_SYS, errno, "minimal BTF: %m");
	r = mr_write_full(fd, bytes, size);
	return r < 0 ? mr_err(err, MR_E_SYS, -r, "write the minimal BTF: %m") : 0;
}

int mr_minbtf_make(const void *kernel, size_t size, struct btf *const *objects, size_t n_objects,
		   int out_fd, struct mr_error *err)
{
	struct scan s = { .strings = NULL };
	int r;

	note_wishes(&s, objects, n_objects);
	make_filter(&s);
	r = open_scan(&s, kernel, size, err);
	if (r == 0) {
		s.out = btf__new_empty();
		r = s.out ? copy_wanted(&s, err)
			  : mr_err(err, MR_E_SYS, errno, "make an empty BTF: %m");
	}
	if (r == 0)
		r = write_out(s.out, out_fd, err);
	btf__free(s.out);
	free(s.at);
	free(s.found);
	free(s.copied);
	free(s.wishes);
	return r;
}

/* Newer kernels let the file be mapped; of older ones it is read, page by page.  NULL: *err. */
static void *map_types(int fd, size_t size, struct mr_error *err)
{
	void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	ssize_t n;

	if (bytes != MAP_FAILED)
		return bytes;
	bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (bytes == MAP_FAILED) {
		mr_err(err, MR_E_SYS, errno, "memory for the kernel's BTF: %m");
		return NULL;
	}
	n = lseek(fd, 0, SEEK_SET) < 0 ? -errno : mr_read_full(fd, bytes, size);
	if (n == (ssize_t)size)
		return bytes;
	munmap(bytes, size);
	mr_err(err, MR_E_SYS, n < 0 ? (int)-n : EIO, "read the kernel's BTF: %m");
	return NULL;
}

int mr_minbtf_make_native(struct btf *const *objects, size_t n_objects, int out_fd,
			  struct mr_error *err)
{
	static const char path[] = "/sys/kernel/btf/vmlinux";
	mr_auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	off_t size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
	void *bytes;
	int r;

	if (size <= 0)
		return mr_err(err, MR_E_KERNEL, errno, "%s: %m (the kernel was built without BTF)",
			      path);
	if (size > KERNEL_MAX)
		return mr_err(err, MR_E_KERNEL, EFBIG, "%s: %m", path);
	bytes = map_types(fd, (size_t)size, err);
	if (!bytes)
		return -err->errnum;
	r = mr_minbtf_make(bytes, (size_t)size, objects, n_objects, out_fd, err);
	munmap(bytes, (size_t)size);
	return r;
}
