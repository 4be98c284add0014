/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Root file system
 *
 * The root is an empty tmpfs of ours.  What programs need is attached to it
 * read-only from the host (or from --root DIR, entry by entry, so that nothing is
 * ever created in DIR and its dev, proc and the like are never used).  /etc
 * holds a chosen few of the host's files and synthetic ones.  /dev has nodes of our
 * own, /proc is a new read-only instance with masks.  The places the payload may
 * write to are pool.c's.
 *
 * Until mr_rootfs_enter() our root is stacked on the host's "/", so absolute paths
 * still lead to the host and everything of ours goes through root_fd.  What must be
 * mounted only while we build is in the host's tree: the pool on /proc, of which nothing more
 * is read by then, and the rest in the pool.  So the unmounting of the host's tree takes it
 * along; each one more would wait for all CPUs.
 *
 * Once the system, /etc and the nodes of /dev are there, and nothing else, a copy of the tree of
 * mounts can be kept for a later run, which attaches it in place of making all this, and leaves a
 * copy in its turn.  Such a root is read-only from the beginning.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "netns/doors.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/compat.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/launch/mountfd.h"
#include "runtime/launch/steps.h"
#include "runtime/spec/spec.h"

#define RO_ATTRS (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define RW_ATTRS (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define SMALL_FILE 16384 /* up to here a copy is cheaper than a mount */

static const struct skeleton_dir {
	const char *path;
	mode_t mode;
} skeleton[] = {
	{ "etc", 0755 },	 { "dev", 0755 },      { "proc", 0555 },
	{ "tmp", 0755 },	 { "work", 0755 },     { "run", 0755 },
	{ "run/snippet", 0755 }, { "run/mask", 0555 }, { "var", 0755 },
};

/* Folders of --root DIR that are ours in any case. */
static const char *const ours[] = { ".menace", "dev", "proc", "sys", "tmp", "run", "work", "var" };

/* What programs need of a host that keeps its system in /usr. */
static const char *const system_entries[] = { "usr",   "bin",	"sbin",	 "lib",
					      "lib32", "lib64", "libx32" };

/* Of the host's /etc what programs fail without: no secrets, no users, no network. Each costs a
 * mount or a copy in every run; the rest is a --ro away.  A trailing '*' is a prefix. */
static const char *const etc_entries[] = {
	"alternatives", "fonts", "java-*",    "ld.so.cache", "localtime", "mime.types",
	"os-release",	"php*",	 "protocols", "services",    "timezone",
};

static int note_own_dev(struct mr_child *c, int fd, struct mr_error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return mr_err(err, MR_E_SYS, errno, "stat a new file system: %m");
	mr_assert(c->n_own_devs < N_ELEMENTS(c->own_devs));
	c->own_devs[c->n_own_devs++] = st.st_dev;
	return 0;
}

int mr_rootfs_make_dir(int dir_fd, const char *path, mode_t mode, struct mr_error *err)
{
	if (mkdirat(dir_fd, path, mode) < 0 && errno != EEXIST)
		return mr_err(err, MR_E_SYS, errno, "make folder %s: %m", path);
	return 0;
}

static int fill_root(struct mr_child *c, struct mr_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < N_ELEMENTS(skeleton); i++)
		r = mr_rootfs_make_dir(c->root_fd, skeleton[i].path, skeleton[i].mode, err);
	if (r == 0 && symlinkat("/tmp", c->root_fd, "var/tmp") < 0)
		r = mr_err(err, MR_E_SYS, errno, "link /var/tmp: %m");
	return r < 0 ? r : mr_rootfs_write_file(c->root_fd, "run/mask-file", 0444, "", 0, err);
}

static bool has_kept_root(const struct mr_child *c)
{
	return c->opts->kept_root >= 0;
}

int mr_rootfs_begin(struct mr_child *c, struct mr_error *err)
{
	static const struct mr_fsopt opts[] = { { "mode", "0755" },
						{ "size", "64m" },
						{ "nr_inodes", "4096" } };
	struct mount_attr private = { .propagation = MS_PRIVATE };
	int r;

	umask(0);
	if (syscall(SYS_mount_setattr, AT_FDCWD, "/", AT_RECURSIVE, &private, sizeof(private)) < 0)
		return mr_err(err, MR_E_SYS, errno, "make all mounts private: %m");
	c->old_root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (c->old_root_fd < 0)
		return mr_err(err, MR_E_SYS, errno, "open /: %m");
	c->pool_fd = mr_pool_new(c, err);
	if (c->pool_fd < 0)
		return mr_err_wrap(err, c->pool_fd, "pool");
	c->root_fd = has_kept_root(c)
			     ? c->opts->kept_root
			     : mr_mountfd_new("tmpfs", opts, N_ELEMENTS(opts), RW_ATTRS, err);
	if (c->root_fd < 0)
		return c->root_fd;
	r = mr_mountfd_attach(c->root_fd, c->old_root_fd, "the new root", err);
	if (r == 0)
		r = note_own_dev(c, c->root_fd, err);
	if (r == 0)
		r = note_own_dev(c, c->pool_fd, err);
	return r < 0 || has_kept_root(c) ? r : fill_root(c, err);
}

static int copy_symlink(int from_fd, const char *name, int to_fd, struct mr_error *err)
{
	char target[4096];
	ssize_t n = readlinkat(from_fd, name, target, sizeof(target) - 1);

	if (n < 0)
		return mr_err(err, MR_E_SYS, errno, "read link %s: %m", name);
	target[n] = '\0';
	if (symlinkat(target, to_fd, name) < 0)
		return mr_err(err, MR_E_SYS, errno, "link %s: %m", name);
	return 0;
}

int mr_rootfs_write_file(int dir_fd, const char *path, mode_t mode, const void *text, size_t size,
			 struct mr_error *err)
{
	mr_auto_close int fd = openat(dir_fd, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	int r;

	if (fd < 0)
		return mr_err(err, MR_E_SYS, errno, "make file %s: %m", path);
	r = mr_write_full(fd, text, size);
	return r < 0 ? mr_err(err, MR_E_SYS, -r, "write %s: %m", path) : 0;
}

/* Cheapest inside the kernel. */
static int copy_small_file(int from_fd, const char *name, int to_fd, struct mr_error *err)
{
	mr_auto_close int from = openat(from_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	mr_auto_close int to = -1;
	ssize_t n;

	if (from < 0)
		return mr_err(err, MR_E_SYS, errno, "open %s: %m", name);
	to = openat(to_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (to < 0)
		return mr_err(err, MR_E_SYS, errno, "make file %s: %m", name);
	do
		n = sendfile(to, from, NULL, SMALL_FILE);
	while (n > 0);
	return n < 0 ? mr_err(err, MR_E_SYS, errno, "copy %s: %m", name) : 0;
}

static int bind_entry(int from_fd, const char *name, int to_fd, bool is_dir, struct mr_error *err)
{
	mr_auto_close int place = openat(from_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	mr_auto_close int tree = -1;
	struct stat st;
	int r;

	if (place < 0 || fstat(place, &st) < 0)
		return mr_err(err, MR_E_SYS, errno, "open %s: %m", name);
	if (is_dir ? !S_ISDIR(st.st_mode) : !S_ISREG(st.st_mode))
		return mr_err(err, MR_E_BUSY, EAGAIN, "%s was replaced while it was being mounted",
			      name);
	tree = mr_mountfd_clone(place, "", RO_ATTRS, err);
	if (tree < 0)
		return tree;
	r = is_dir ? mr_rootfs_make_dir(to_fd, name, 0755, err)
		   : mr_rootfs_write_file(to_fd, name, 0644, "", 0, err);
	return r < 0 ? r : mr_mountfd_attach_at(tree, to_fd, name, err);
}

/* Show from_fd/name at to_fd/name, read-only: links as links, folders and files by mount. A
 * missing entry is skipped. */
static int show_entry(int from_fd, const char *name, int to_fd, bool copy_small,
		      struct mr_error *err)
{
	struct stat st;

	if (fstatat(from_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		if (errno == ENOENT)
			return 0;
		return mr_err(err, MR_E_SYS, errno, "stat %s: %m", name);
	}
	if (S_ISLNK(st.st_mode))
		return copy_symlink(from_fd, name, to_fd, err);
	if (S_ISDIR(st.st_mode))
		return bind_entry(from_fd, name, to_fd, true, err);
	if (!S_ISREG(st.st_mode) || !(st.st_mode & 0004))
		return 0;
	if (copy_small && st.st_size < SMALL_FILE)
		return copy_small_file(from_fd, name, to_fd, err);
	return bind_entry(from_fd, name, to_fd, false, err);
}

static bool is_ours(const char *name)
{
	for (size_t i = 0; i < N_ELEMENTS(ours); i++) {
		if (strcmp(name, ours[i]) == 0)
			return true;
	}
	return false;
}

/* --root DIR: every entry but those that are ours. A link in place of one of ours is an attempt
 * to lead our mounts elsewhere (CVE-2026-41579), or a mistake; both are refused. */
static int show_root_entry(struct mr_child *c, int dir_fd, const char *name, struct mr_error *err)
{
	const bool is_etc = strcmp(name, "etc") == 0;
	struct stat st;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return 0;
	if (!is_ours(name) && !is_etc)
		return show_entry(dir_fd, name, c->root_fd, false, err);
	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return mr_err(err, MR_E_SYS, errno, "root %s: stat %s: %m", c->spec->sandbox_root,
			      name);
	if (S_ISLNK(st.st_mode))
		return mr_err(err, MR_E_USAGE, ELOOP,
			      "root %s: %s is a symbolic link; it must be a folder or absent",
			      c->spec->sandbox_root, name);
	if (!is_etc)
		return 0;
	if (unlinkat(c->root_fd, "etc", AT_REMOVEDIR) < 0)
		return mr_err(err, MR_E_SYS, errno, "replace /etc: %m");
	return show_entry(dir_fd, name, c->root_fd, false, err);
}

static int show_root_dir(struct mr_child *c, struct mr_error *err)
{
	struct open_how how = { .flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
				.resolve = RESOLVE_NO_MAGICLINKS };
	mr_auto_closedir DIR *dir = NULL;
	int fd = (int)syscall(SYS_openat2, AT_FDCWD, c->spec->sandbox_root, &how, sizeof(how));
	struct dirent *entry;
	int r = 0;

	if (fd < 0)
		return mr_err(err, MR_E_SYS, errno, "root %s: %m", c->spec->sandbox_root);
	dir = fdopendir(fd);
	if (!dir) {
		r = mr_err(err, MR_E_SYS, errno, "root %s: %m", c->spec->sandbox_root);
		mr_close(fd);
		return r;
	}
	while (r == 0 && (errno = 0, entry = readdir(dir)))
		r = show_root_entry(c, dirfd(dir), entry->d_name, err);
	if (r == 0 && errno)
		r = mr_err(err, MR_E_SYS, errno, "list root %s: %m", c->spec->sandbox_root);
	return r;
}

const char *const *mr_rootfs_system_entries(size_t *ret_n)
{
	*ret_n = N_ELEMENTS(system_entries);
	return system_entries;
}

/* A view of a folder of the host's root; *ret_copied as of mr_hostview_new(). */
static int new_view(struct mr_child *c, const char *name, bool *ret_copied, struct mr_error *err)
{
	mr_auto_close int place = mr_hostview_open(c, name);
	char path[16];

	*ret_copied = false;
	if (place >= 0)
		return mr_mountfd_clone(place, "", 0, err);
	snprintf(path, sizeof(path), "/%s", name);
	return mr_hostview_new(c, path, ret_copied, err);
}

/* A folder as a view, a link as a link. */
static int show_system_entry(struct mr_child *c, const char *name, struct mr_error *err)
{
	mr_auto_close int view = -1;
	struct stat st;
	char path[16];
	bool copied;
	int r;

	if (fstatat(c->old_root_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : mr_err(err, MR_E_SYS, errno, "stat /%s: %m", name);
	if (S_ISLNK(st.st_mode))
		return copy_symlink(c->old_root_fd, name, c->root_fd, err);
	if (!S_ISDIR(st.st_mode))
		return 0;
	view = new_view(c, name, &copied, err);
	r = view < 0 ? view : mr_rootfs_make_dir(c->root_fd, name, 0755, err);
	if (r == 0)
		r = mr_mountfd_attach_at(view, c->root_fd, name, err);
	snprintf(path, sizeof(path), "/%s", name);
	return r < 0 || copied ? r : mr_hostview_show_mounts(c, path, err);
}

static int show_system(struct mr_child *c, struct mr_error *err)
{
	int r = mr_hostview_root(c, err);

	for (size_t i = 0; r == 0 && i < N_ELEMENTS(system_entries); i++)
		r = show_system_entry(c, system_entries[i], err);
	return r;
}

int mr_rootfs_system(struct mr_child *c, struct mr_error *err)
{
	const bool own = c->spec->sandbox_root[0], kept = has_kept_root(c);
	int r = own ? show_root_dir(c, err) : kept ? 0 : mr_hostview_begin(c, err);

	if (r == 0)
		r = mr_mountfd_attach_at(c->pool_fd, c->old_root_fd, "proc", err);
	return r < 0 || own || kept ? r : show_system(c, err);
}

bool mr_rootfs_is_etc_entry(const char *name)
{
	for (size_t i = 0; i < N_ELEMENTS(etc_entries); i++) {
		const char *entry = etc_entries[i];
		size_t len;

		if (name[0] != entry[0])
			continue; /* nearly all of a long list: before anything is called */
		len = strcspn(entry, "*");
		if (strncmp(name, entry, len) == 0 && (entry[len] == '*' || name[len] == '\0'))
			return true;
	}
	return false;
}

/* The host's /etc, by itself and as a view, and ours. */
struct etc {
	int host, view, own;
	bool copied; /* the view is a copy of the host's mounts */
};

/* A folder is a mount from the view; a file is a copy, or when large a mount as well. */
static int show_etc_entry(struct mr_child *c, const struct etc *etc, const char *name,
			  struct mr_error *err)
{
	struct stat st;
	char path[NAME_MAX + 6];
	int r;

	if (fstatat(etc->host, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : mr_err(err, MR_E_SYS, errno, "stat /etc/%s: %m", name);
	if (!S_ISDIR(st.st_mode))
		return show_entry(S_ISREG(st.st_mode) && st.st_size >= SMALL_FILE ? etc->view
										  : etc->host,
				  name, etc->own, true, err);
	r = bind_entry(etc->view, name, etc->own, true, err);
	snprintf(path, sizeof(path), "/etc/%s", name);
	return r < 0 || etc->copied ? r : mr_hostview_show_mounts(c, path, err);
}

/* One walk over the host's /etc: cheaper than asking for each name. */
static int show_etc(struct mr_child *c, const struct etc *etc, struct mr_error *err)
{
	mr_auto_closedir DIR *dir = NULL;
	int fd = openat(etc->host, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent *entry;
	int r = 0;

	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		r = mr_err(err, MR_E_SYS, errno, "list /etc: %m");
		mr_close(fd);
		return r;
	}
	while (r == 0 && (entry = readdir(dir))) {
		if (mr_rootfs_is_etc_entry(entry->d_name))
			r = show_etc_entry(c, etc, entry->d_name, err);
	}
	return r;
}

static int write_identity(struct mr_child *c, int etc, struct mr_error *err)
{
	char buf[512];
	int n, r;

	n = snprintf(buf, sizeof(buf),
		     "root:x:0:0:root:/nonexistent:/usr/sbin/nologin\n"
		     "sandbox:x:%u:%u:sandbox:/work:/bin/sh\n"
		     "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
		     c->ids.uid, c->ids.gid);
	r = mr_rootfs_write_file(etc, "passwd", 0644, buf, (size_t)n, err);
	if (r < 0)
		return r;
	n = snprintf(buf, sizeof(buf), "root:x:0:\nsandbox:x:%u:\nnogroup:x:65534:\n", c->ids.gid);
	r = mr_rootfs_write_file(etc, "group", 0644, buf, (size_t)n, err);
	if (r < 0)
		return r;
	n = snprintf(buf, sizeof(buf), "127.0.0.1 localhost %s\n::1 localhost ip6-localhost\n",
		     c->spec->sandbox_hostname);
	r = mr_rootfs_write_file(etc, "hosts", 0644, buf, (size_t)n, err);
	if (r < 0)
		return r;
	n = snprintf(buf, sizeof(buf), "%s\n", c->spec->sandbox_hostname);
	return mr_rootfs_write_file(etc, "hostname", 0644, buf, (size_t)n, err);
}

static int write_resolver(struct mr_child *c, int host_etc, int etc, struct mr_error *err)
{
	static const char none[] = "# no network\n";
	static const char inside[] = "nameserver " MR_DOORS_RESOLVER "\n";
	static const char nsswitch[] = "passwd: files\ngroup: files\nshadow: files\n"
				       "hosts: files dns\nservices: files\nprotocols: files\n";
	char text[4096];
	ssize_t n = -1;
	int r = mr_rootfs_write_file(etc, "nsswitch.conf", 0644, nsswitch, sizeof(nsswitch) - 1,
				     err);

	if (r < 0)
		return r;
	/* Often a link into /run: read through it, the sandbox has no such path. */
	if (c->spec->net_mode == MR_NET_HOST)
		n = mr_read_file_at(host_etc, "resolv.conf", text, sizeof(text));
	if (c->spec->net_mode == MR_NET_ALLOWLIST || c->spec->net_mode == MR_NET_STUB)
		return mr_rootfs_write_file(etc, "resolv.conf", 0644, inside, sizeof(inside) - 1,
					    err);
	return n >= 0 ? mr_rootfs_write_file(etc, "resolv.conf", 0644, text, (size_t)n, err)
		      : mr_rootfs_write_file(etc, "resolv.conf", 0644, none, sizeof(none) - 1, err);
}

/* Among mocks there is one authority, and nobody else's certificate to be verified: it is the
 * system's, too, for programs that no variable tells of it. */
static int trust_mocks(const struct etc *etc, struct mr_error *err)
{
	int r = mr_rootfs_make_dir(etc->own, "ssl/certs", 0755, err);

	if (r == 0 && symlinkat(MR_LAUNCH_MOCKS_DIR "/" MR_LAUNCH_MOCKS_CA, etc->own,
				"ssl/certs/ca-certificates.crt") < 0)
		r = mr_err(err, MR_E_SYS, errno, "link ssl/certs/ca-certificates.crt: %m");
	return r;
}

/* Of /etc/ssl never "private". */
static int show_tls_roots(struct mr_child *c, const struct etc *etc, struct mr_error *err)
{
	const bool mocks = c->spec->net_mode == MR_NET_STUB;
	int r;

	if (!mocks && faccessat(etc->host, "ssl", F_OK, 0) < 0)
		return 0;
	r = mr_rootfs_make_dir(etc->own, "ssl", 0755, err);
	if (r == 0)
		r = mocks ? trust_mocks(etc, err) : show_etc_entry(c, etc, "ssl/certs", err);
	return r < 0 ? r : show_etc_entry(c, etc, "ssl/openssl.cnf", err);
}

static int write_etc(struct mr_child *c, const struct etc *etc, struct mr_error *err)
{
	int r = write_identity(c, etc->own, err);

	return r < 0 ? r : write_resolver(c, etc->host, etc->own, err);
}

/* Attached, as what is cloned must be. */
static int open_etc_view(struct mr_child *c, struct etc *etc, struct mr_error *err)
{
	int r;

	etc->view = mr_hostview_open(c, "etc");
	if (etc->view >= 0)
		return 0;
	etc->view = mr_hostview_new(c, "/etc", &etc->copied, err);
	if (etc->view < 0)
		return etc->view;
	r = mr_rootfs_make_dir(c->pool_fd, MR_STAND_ETC, 0700, err);
	return r < 0 ? r : mr_mountfd_attach_at(etc->view, c->pool_fd, MR_STAND_ETC, err);
}

static int fill_etc(struct mr_child *c, struct etc *etc, struct mr_error *err)
{
	int r;

	r = open_etc_view(c, etc, err);
	if (r == 0)
		r = show_etc(c, etc, err);
	if (r == 0)
		r = show_tls_roots(c, etc, err);
	return r < 0 ? r : write_etc(c, etc, err);
}

static void close_etc(struct etc *etc)
{
	mr_close(etc->host);
	mr_close(etc->view);
	mr_close(etc->own);
}

static int make_etc(struct mr_child *c, struct mr_error *err)
{
	struct etc etc = {
		.own = openat(c->root_fd, "etc", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
		.host = openat(c->old_root_fd, "etc", O_PATH | O_DIRECTORY | O_CLOEXEC),
		.view = -1,
	};
	struct stat st;
	int r;

	if (etc.own < 0 || etc.host < 0 || fstat(etc.own, &st) < 0)
		r = mr_err(err, MR_E_SYS, errno, "open /etc: %m");
	else if (!c->spec->sandbox_root[0])
		r = fill_etc(c, &etc, err);
	else if (st.st_dev == c->own_devs[0])
		r = write_etc(c, &etc, err);
	else
		r = 0; /* DIR brings its own */
	close_etc(&etc);
	mr_hostview_end(c);
	return r;
}

int mr_rootfs_etc(struct mr_child *c, struct mr_error *err)
{
	return has_kept_root(c) ? 0 : make_etc(c, err);
}

static const struct dev_node {
	const char *name;
	unsigned int major, minor;
} dev_nodes[] = {
	{ "null", 1, 3 },   { "zero", 1, 5 },	 { "full", 1, 7 },
	{ "random", 1, 8 }, { "urandom", 1, 9 }, { "tty", 5, 0 },
};

static const struct dev_link {
	const char *name, *target;
} dev_links[] = {
	{ "fd", "/proc/self/fd" },	 { "stdin", "/proc/self/fd/0" },
	{ "stdout", "/proc/self/fd/1" }, { "stderr", "/proc/self/fd/2" },
	{ "ptmx", "pts/ptmx" },
};

/* In a user namespace nodes cannot be made: the host's is shown, after a look that it is the
 * device its name says (CVE-2025-31133). */
static int bind_dev_node(struct mr_child *c, int dev, const struct dev_node *node,
			 struct mr_error *err)
{
	mr_auto_close int host_dev =
		openat(c->old_root_fd, "dev", O_PATH | O_DIRECTORY | O_CLOEXEC);
	mr_auto_close int tree = -1;
	struct stat st;
	int r;

	if (host_dev < 0)
		return mr_err(err, MR_E_SYS, errno, "open /dev: %m");
	/* Read-only is about the host's inode: a device itself can still be written. */
	tree = mr_mountfd_clone(host_dev, node->name,
				MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, err);
	if (tree < 0)
		return mr_err_wrap(err, tree, "/dev");
	if (fstat(tree, &st) < 0 || !S_ISCHR(st.st_mode) ||
	    st.st_rdev != makedev(node->major, node->minor))
		return mr_err(err, MR_E_KERNEL, EINVAL, "the host's /dev/%s is not device %u:%u",
			      node->name, node->major, node->minor);
	r = mr_rootfs_write_file(dev, node->name, 0666, "", 0, err);
	return r < 0 ? r : mr_mountfd_attach_at(tree, dev, node->name, err);
}

static int fill_dev(struct mr_child *c, int dev, struct mr_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < N_ELEMENTS(dev_nodes); i++) {
		const struct dev_node *node = &dev_nodes[i];

		if (c->ids.userns)
			r = bind_dev_node(c, dev, node, err);
		else if (mknodat(dev, node->name, S_IFCHR | 0666,
				 makedev(node->major, node->minor)) < 0)
			r = mr_err(err, MR_E_SYS, errno, "make /dev/%s: %m", node->name);
	}
	for (size_t i = 0; r == 0 && i < N_ELEMENTS(dev_links); i++) {
		if (symlinkat(dev_links[i].target, dev, dev_links[i].name) < 0)
			r = mr_err(err, MR_E_SYS, errno, "link /dev/%s: %m", dev_links[i].name);
	}
	if (r == 0)
		r = mr_rootfs_make_dir(dev, "shm", 0755, err);
	return r < 0 ? r : mr_rootfs_make_dir(dev, "pts", 0755, err);
}

/* The file system of /dev, attached and as it stays. */
static int make_dev(struct mr_child *c, struct mr_error *err)
{
	static const struct mr_fsopt opts[] = { { "mode", "0755" },
						{ "size", "64k" },
						{ "nr_inodes", "64" } };
	mr_auto_close int dev = mr_mountfd_new("tmpfs", opts, N_ELEMENTS(opts),
					       MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, err);
	int r;

	if (dev < 0)
		return dev;
	r = mr_mountfd_attach_at(dev, c->root_fd, "dev", err);
	if (r == 0)
		r = fill_dev(c, dev, err);
	return r < 0 ? r : mr_mountfd_setattr(dev, MOUNT_ATTR_RDONLY, "/dev", err);
}

/* While there is nothing on it that is this run's alone. */
static int copy_root(struct mr_child *c, struct mr_error *err)
{
	c->root_copy_fd = mr_mountfd_clone(c->root_fd, "", 0, err);
	return c->root_copy_fd < 0
		       ? c->root_copy_fd
		       : mr_mountfd_setattr(c->root_copy_fd, MOUNT_ATTR_RDONLY, "/", err);
}

int mr_rootfs_dev(struct mr_child *c, struct mr_error *err)
{
	static const struct mr_fsopt opts[] = {
		{ "newinstance", NULL }, { "mode", "0620" }, { "ptmxmode", "0666" }, { "max", "64" }
	};
	mr_auto_close int pts = -1;
	int r = has_kept_root(c) ? 0 : make_dev(c, err);

	/* With the host's own inodes each run would have to say that it is shown those. */
	if (r == 0 && c->opts->keeps_root && !c->built.built.shared_inodes)
		r = copy_root(c, err);
	if (r < 0)
		return r;
	pts = mr_mountfd_new("devpts", opts, N_ELEMENTS(opts),
			     MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, err);
	return pts < 0 ? pts : mr_mountfd_attach_at(pts, c->root_fd, "dev/pts", err);
}

/* Readable by everyone or by root, of no use to a program, about the host.  Also locks: open file
 * description locks have no process, so every pid namespace shows those of all others, with a
 * range that their owner chooses. */
static const char *const proc_masks[] = {
	"acpi",		 "asound",     "cmdline",     "fs",	     "interrupts",
	"kallsyms",	 "kcore",      "key-users",   "keys",	     "kmsg",
	"latency_stats", "locks",      "modules",     "sched_debug", "scsi",
	"sysrq-trigger", "timer_list", "timer_stats",
};

/* Masks of folders and of files that are attached already: a copy of one needs no attributes. */
struct masks {
	int dir, file;
};

static int mask_proc(struct mr_child *c, int proc, const char *name, struct masks *masks,
		     struct mr_error *err)
{
	mr_auto_close int target = openat(proc, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	mr_auto_close int mask = -1;
	struct stat st;
	int *first, r;

	if (target < 0 && errno == ENOENT)
		return 0;
	if (target < 0 || fstat(target, &st) < 0)
		return mr_err(err, MR_E_SYS, errno, "open /proc/%s: %m", name);
	first = S_ISDIR(st.st_mode) ? &masks->dir : &masks->file;
	mask = *first >= 0 ? mr_mountfd_clone(*first, "", 0, err)
			   : mr_mountfd_clone(c->root_fd,
					      first == &masks->dir ? "run/mask" : "run/mask-file",
					      RO_ATTRS | MOUNT_ATTR_NOEXEC, err);
	r = mask < 0 ? mask : mr_mountfd_attach(mask, target, name, err);
	if (r == 0 && *first < 0)
		*first = mr_take_fd(mask);
	return r;
}

int mr_rootfs_proc(struct mr_child *c, struct mr_error *err)
{
	/* hidepid: our non-dumpable init, and whatever else it may not trace, is not there. */
	static const struct mr_fsopt opts[] = { { "hidepid", "2" } };
	mr_auto_close int proc =
		mr_mountfd_new("proc", opts, N_ELEMENTS(opts), RO_ATTRS | MOUNT_ATTR_NOEXEC, err);
	struct masks masks = { .dir = -1, .file = -1 };
	int r;

	if (proc == -EPERM && c->ids.userns)
		return mr_err_wrap(
			err, proc,
			"the host's /proc is partly hidden (as inside a container), so a "
			"user namespace may not have a new one; run as root, or start the "
			"container with an unmasked /proc");
	if (proc < 0)
		return proc;
	r = mr_mountfd_attach_at(proc, c->root_fd, "proc", err);
	for (size_t i = 0; r == 0 && i < N_ELEMENTS(proc_masks); i++)
		r = mask_proc(c, proc, proc_masks[i], &masks, err);
	mr_close(masks.dir);
	mr_close(masks.file);
	return r;
}

int mr_rootfs_snippet(struct mr_child *c, struct mr_error *err)
{
	char path[300];

	if (!c->snippet_name)
		return 0;
	snprintf(path, sizeof(path), "run/snippet/%s", c->snippet_name);
	return mr_rootfs_write_file(c->root_fd, path, 0755, c->snippet_text, c->snippet_size, err);
}

/* Nothing is mounted on them any more, and what was cloned from that stays. */
static int remove_stands(struct mr_child *c, struct mr_error *err)
{
	static const char *const stands[] = { MR_STAND_HOST, MR_STAND_ETC, MR_STAND_LOWER,
					      MR_STAND_LAYER };

	for (size_t i = 0; i < N_ELEMENTS(stands); i++) {
		if (unlinkat(c->pool_fd, stands[i], AT_REMOVEDIR) < 0 && errno != ENOENT)
			return mr_err(err, MR_E_SYS, errno, "remove %s from the pool: %m",
				      stands[i]);
	}
	return 0;
}

int mr_rootfs_enter(struct mr_child *c, struct mr_error *err)
{
	int r;

	if (fchdir(c->root_fd) < 0)
		return mr_err(err, MR_E_SYS, errno, "enter the new root: %m");
	if (mr_pivot_root(".", ".") < 0)
		return mr_err(err, MR_E_SYS, errno, "pivot_root: %m%s",
			      errno == EINVAL
				      ? " (the host's root may be an initramfs: switch_root first)"
				      : "");
	if (umount2(".", MNT_DETACH) < 0)
		return mr_err(err, MR_E_SYS, errno, "unmount the host's root: %m");
	if (chdir("/") < 0)
		return mr_err(err, MR_E_SYS, errno, "chdir /: %m");
	c->old_root_fd = mr_close(c->old_root_fd);
	r = remove_stands(c, err);
	if (r < 0)
		return r;
	umask(022);
	return mr_mountfd_setattr(c->root_fd, MOUNT_ATTR_RDONLY, "/", err);
}
