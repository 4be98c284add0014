/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel
 *
 * One row of places[] is one pattern.  A kernel is taken when it has every module the guest
 * needs, as a module or built in, and at least one way to see files of this host: the
 * kernel's own list decides, not its name.
 */
#include "runtime/backend/qemu_kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/backend/qemu_cpio.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/str.h"

#define LIST_MAX (16 << 20)
#define MODULE_MAX (32 << 20)
#define MODULES_MAX 256
#define FIX                                                                                     \
	"install linux-image-cloud-amd64, or unpack it (apt-get download, dpkg-deb -x, depmod " \
	"-b) "                                                                                  \
	"in /var/lib/menace/guest, or name its vmlinuz in " MR_KERNEL_VARIABLE

static const char *const places[] = {
	"/var/lib/menace/guest/boot/vmlinuz-*",
	"/boot/vmlinuz-*",
};

/* What any guest needs; then the ways to see files. */
static const char *const basic[] = { "virtio_pci", "virtio_console", "overlay" };
static const struct {
	const char *name;
	const char *modules[2];
} shares[] = {
	[MR_SHARE_VIRTIOFS] = { "virtiofs", { "fuse", "virtiofs" } },
	[MR_SHARE_9P] = { "9p", { "9pnet_virtio", "9p" } },
};

const char *mr_kernel_share_name(enum mr_kernel_share share)
{
	return shares[share].name;
}

/* --- the lists of modules ------------------------------------------------------------- */

/* Is [path, path + n) the file of this module?  '-' and '_' are the same in names. */
static bool is_module(const char *path, size_t n, const char *module)
{
	const char *slash = memrchr(path, '/', n);
	const char *name = slash ? slash + 1 : path;
	size_t left = n - (size_t)(name - path), i = 0;

	for (; i < left && module[i]; i++)
		if (name[i] != module[i] && !(name[i] == '-' && module[i] == '_'))
			return false;
	return !module[i] && left - i >= 3 && memcmp(name + i, ".ko", 3) == 0;
}

/* Its line in modules.dep or modules.builtin; NULL: none. */
static const char *find_line(const char *list, const char *module)
{
	for (const char *line = list; *line; line += strcspn(line, "\n")) {
		line += strspn(line, "\n");
		if (is_module(line, strcspn(line, ":\n"), module))
			return line;
	}
	return NULL;
}

bool mr_kernel_has(const char *dep, const char *builtin, const char *module)
{
	return find_line(dep, module) || find_line(builtin, module);
}

/* --- finding it ----------------------------------------------------------------------- */

static int read_list(const char *folder, const char *name, char **ret, struct mr_error *err)
{
	mr_auto_free char *path = mr_str_format("%s/%s", folder, name);
	size_t size;

	return mr_read_whole_file(path, LIST_MAX, ret, &size, err);
}

void mr_kernel_deinit(struct mr_kernel *kernel)
{
	free(kernel->image);
	free(kernel->release);
	free(kernel->modules);
	free(kernel->dep);
	free(kernel->builtin);
	*kernel = (struct mr_kernel){ 0 };
}

static int judge_modules(struct mr_kernel *kernel, struct mr_error *err)
{
	for (size_t i = 0; i < N_ELEMENTS(basic); i++)
		if (!mr_kernel_has(kernel->dep, kernel->builtin, basic[i]))
			return mr_err(err, MR_E_KERNEL, ENOENT, "%s has no module %s",
				      kernel->image, basic[i]);
	for (size_t i = 0; i < N_ELEMENTS(shares); i++)
		kernel->can[i] =
			mr_kernel_has(kernel->dep, kernel->builtin, shares[i].modules[0]) &&
			mr_kernel_has(kernel->dep, kernel->builtin, shares[i].modules[1]);
	return kernel->can[MR_SHARE_VIRTIOFS] || kernel->can[MR_SHARE_9P]
		       ? 0
		       : mr_err(err, MR_E_KERNEL, ENOENT, "%s has neither virtiofs nor 9p",
				kernel->image);
}

/* FOLDER/boot/vmlinuz-RELEASE has its modules in FOLDER/lib/modules/RELEASE. */
static int look_at(const char *image, struct mr_kernel *ret, struct mr_error *err)
{
	const char *slash = strrchr(image, '/'), *dash = slash ? strchr(slash, '-') : NULL;
	mr_auto_free char *folder = NULL;
	char *up;
	int r;

	if (!dash || !dash[1])
		return mr_err(err, MR_E_KERNEL, EINVAL, "%s: not named vmlinuz-RELEASE", image);
	if (access(image, R_OK) < 0)
		return mr_err(err, MR_E_KERNEL, errno, "%s: %m", image);
	folder = mr_str_ndup(image, (size_t)(slash - image));
	up = strrchr(folder, '/');
	if (up)
		*up = '\0';
	*ret = (struct mr_kernel){ .image = mr_str_dup(image), .release = mr_str_dup(dash + 1) };
	ret->modules = mr_str_format("%s/lib/modules/%s", up ? folder : "..", ret->release);
	r = read_list(ret->modules, "modules.dep", &ret->dep, err);
	if (r == 0)
		r = read_list(ret->modules, "modules.builtin", &ret->builtin, err);
	if (r == 0)
		r = judge_modules(ret, err);
	if (r < 0) {
		mr_kernel_deinit(ret);
		err->code = MR_E_KERNEL;
	}
	return r;
}

static int newest_first(const void *a, const void *b)
{
	return -strverscmp(*(char *const *)a, *(char *const *)b);
}

/* 1: nothing there; negative: what was there cannot be used. */
static int look_in(const char *pattern, struct mr_kernel *ret, struct mr_error *err)
{
	glob_t found = { 0 };
	int r = 1;

	if (glob(pattern, GLOB_NOSORT, NULL, &found) == 0)
		qsort(found.gl_pathv, found.gl_pathc, sizeof(*found.gl_pathv), newest_first);
	for (size_t i = 0; r != 0 && i < found.gl_pathc; i++)
		r = look_at(found.gl_pathv[i], ret, err);
	globfree(&found);
	return r;
}

int mr_kernel_find(struct mr_kernel *ret, struct mr_error *err)
{
	const char *named = getenv(MR_KERNEL_VARIABLE);
	struct mr_error last = MR_ERROR_INIT;
	int r;

	*ret = (struct mr_kernel){ 0 };
	if (named && named[0]) {
		r = look_at(named, ret, err);
		return r < 0 ? mr_err_wrap(err, r, MR_KERNEL_VARIABLE) : 0;
	}
	for (size_t i = 0; i < N_ELEMENTS(places); i++)
		if (look_in(places[i], ret, &last) == 0)
			return 0;
	return mr_err(err, MR_E_KERNEL, ENOENT,
		      "no kernel for the guest in /var/lib/menace/guest or /boot%s%.180s; " FIX,
		      last.code ? ": " : "", last.code ? last.msg : "");
}

/* --- packing -------------------------------------------------------------------------- */

/* The files to load, in order; paths point into modules.dep. */
struct plan {
	const char *path[MODULES_MAX];
	size_t length[MODULES_MAX];
	size_t n;
};

static int plan_file(struct plan *plan, const char *path, size_t length, struct mr_error *err)
{
	for (size_t i = 0; i < plan->n; i++)
		if (plan->length[i] == length && memcmp(plan->path[i], path, length) == 0)
			return 0;
	if (plan->n == MODULES_MAX)
		return mr_err(err, MR_E_KERNEL, E2BIG, "more than %d modules", MODULES_MAX);
	plan->path[plan->n] = path;
	plan->length[plan->n++] = length;
	return 0;
}

/* "FILE: DEP DEP ...": what is needed first stands last. */
static int plan_line(struct plan *plan, const char *line, struct mr_error *err)
{
	const size_t length = strcspn(line, "\n"), name = strcspn(line, ":\n");
	size_t end = length;
	int r = 0;

	while (r == 0 && end > name + 1) {
		const char *space = memrchr(line + name, ' ', end - name);
		size_t begin = space ? (size_t)(space - line) + 1 : end;

		if (begin < end)
			r = plan_file(plan, line + begin, end - begin, err);
		end = space ? begin - 1 : 0;
	}
	return r < 0 ? r : plan_file(plan, line, name, err);
}

static int plan_module(const struct mr_kernel *kernel, const char *module, struct plan *plan,
		       struct mr_error *err)
{
	const char *line = find_line(kernel->dep, module);

	if (line)
		return plan_line(plan, line, err);
	return find_line(kernel->builtin, module)
		       ? 0
		       : mr_err(err, MR_E_KERNEL, ENOENT, "%s has no module %s", kernel->image,
				module);
}

static int pack_file(const struct mr_kernel *kernel, const struct plan *plan, size_t i,
		     struct mr_cpio *cpio, struct mr_error *err)
{
	mr_auto_free char *path =
		mr_str_format("%s/%.*s", kernel->modules, (int)plan->length[i], plan->path[i]);
	mr_auto_free char *name = mr_str_format("modules/%03zu", i);
	mr_auto_free char *data = NULL;
	size_t size;
	int r = mr_read_whole_file(path, MODULE_MAX, &data, &size, err);

	if (r == 0)
		mr_cpio_file(cpio, name, 0644, data, size);
	return r;
}

int mr_kernel_pack(const struct mr_kernel *kernel, const char *const *wanted, struct mr_cpio *cpio,
		   struct mr_error *err)
{
	struct plan plan = { .n = 0 };
	int r = 0;

	for (size_t i = 0; r == 0 && i < N_ELEMENTS(basic); i++)
		r = plan_module(kernel, basic[i], &plan, err);
	for (size_t i = 0; r == 0 && i < N_ELEMENTS(shares); i++)
		for (size_t j = 0; r == 0 && kernel->can[i] && j < 2; j++)
			r = plan_module(kernel, shares[i].modules[j], &plan, err);
	for (size_t i = 0; r == 0 && wanted[i]; i++)
		r = plan_module(kernel, wanted[i], &plan, err);
	mr_cpio_folder(cpio, "modules");
	for (size_t i = 0; r == 0 && i < plan.n; i++)
		r = pack_file(kernel, &plan, i, cpio, err);
	return r;
}
