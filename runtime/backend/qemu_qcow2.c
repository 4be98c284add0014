/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Qcow2
 *
 * All numbers of a header are big-endian.  A layer has four clusters: the header, the table of
 * reference counts, one block of them, and the first-level table, which is all zero: every read
 * goes to what is below.
 */
#include "runtime/backend/qemu_qcow2.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"

#define SECTOR 512
#define HEAD_BYTES 4096 /* that are looked at; header and its extensions must end in them */
#define CONVERT "; make it one file with: qemu-img convert -O qcow2 OLD NEW"

/* Places in the header. */
#define AT_VERSION 4
#define AT_BACKING_OFFSET 8
#define AT_BACKING_SIZE 16
#define AT_CLUSTER_BITS 20
#define AT_SIZE 24
#define AT_CRYPT 32
#define AT_L1_SIZE 36
#define AT_L1_OFFSET 40
#define AT_REFCOUNT_OFFSET 48
#define AT_REFCOUNT_CLUSTERS 56
#define AT_INCOMPATIBLE 72
#define AT_REFCOUNT_ORDER 96
#define AT_LENGTH 100
#define LENGTH_V2 72
#define LENGTH_V3 104

/* Incompatible features.  Dirty (0), compression (3) and extended entries (4) are QEMU's to read. */
#define FEATURE_CORRUPT (1U << 1)
#define FEATURE_DATA_FILE (1U << 2)
#define FEATURES_KNOWN 0x1fU

#define EXTENSION_END 0U
#define EXTENSION_BACKING_FORMAT 0xe2792acaU
#define EXTENSION_ENCRYPTION 0x0537be77U
#define EXTENSION_DATA_FILE 0x44415441U

static const unsigned char magic[] = { 'Q', 'F', 'I', 0xfb };

/* What would pass for a raw disk, and is none. */
static const struct other {
	const char *name;
	size_t at, size;
	const char *bytes;
} others[] = {
	{ "vmdk", 0, 4, "KDMV" },
	{ "vmdk", 0, 4, "COWD" },
	{ "vmdk", 0, 21, "# Disk DescriptorFile" },
	{ "vhdx", 0, 8, "vhdxfile" },
	{ "vhd", 0, 8, "conectix" },
	{ "vdi", 64, 4, "\x7f\x10\xda\xbe" },
	{ "qed", 0, 4, "QED\0" },
	{ "parallels", 0, 16, "WithoutFreeSpace" },
	{ "parallels", 0, 16, "WithouFreSpacExt" },
	{ "luks", 0, 6, "LUKS\xba\xbe" },
	{ "bochs", 0, 24, "Bochs Virtual HD Image\0\0" },
};

static uint64_t get(const unsigned char *head, size_t at, size_t n)
{
	uint64_t value = 0;

	for (size_t i = 0; i < n; i++)
		value = value << 8 | head[at + i];
	return value;
}

static void put(unsigned char *head, size_t at, size_t n, uint64_t value)
{
	for (size_t i = n; i > 0; i--, value >>= 8)
		head[at + i - 1] = (unsigned char)value;
}

static int refuse(struct mr_error *err, const char *why)
{
	return mr_err(err, MR_E_USAGE, EINVAL, "%s", why);
}

/* --- judging -------------------------------------------------------------------------- */

static int judge_extensions(const unsigned char *head, size_t at, struct mr_error *err)
{
	while (at + 8 <= HEAD_BYTES) {
		const uint32_t type = (uint32_t)get(head, at, 4);
		const uint32_t size = (uint32_t)get(head, at + 4, 4);

		if (type == EXTENSION_END)
			return 0;
		if (type == EXTENSION_DATA_FILE)
			return refuse(err, "it names another file for its data" CONVERT);
		if (type == EXTENSION_BACKING_FORMAT)
			return refuse(err, "it names a format of a file below it" CONVERT);
		if (type == EXTENSION_ENCRYPTION)
			return refuse(err, "it is encrypted");
		if (size > HEAD_BYTES)
			break;
		at += 8 + (((size_t)size + 7) & ~(size_t)7);
	}
	return refuse(err, "its header does not end in the first 4 KiB");
}

static int judge_features(const unsigned char *head, uint64_t length, struct mr_error *err)
{
	const uint64_t features = get(head, AT_INCOMPATIBLE, 8);

	if (features & FEATURE_DATA_FILE)
		return refuse(err, "it has its data in another file" CONVERT);
	if (features & FEATURE_CORRUPT)
		return refuse(err, "it is marked as corrupt; see qemu-img check -r");
	if (features & ~(uint64_t)FEATURES_KNOWN)
		return mr_err(err, MR_E_USAGE, EINVAL, "it has unknown features (%#llx)",
			      (unsigned long long)(features & ~(uint64_t)FEATURES_KNOWN));
	if (length < LENGTH_V3 || length % 8)
		return refuse(err, "its header has an impossible length");
	return 0;
}

/* n: how much of it the file has; the rest is zeros. */
static int judge_qcow2(const unsigned char *head, size_t n, struct mr_qcow2_image *ret,
		       struct mr_error *err)
{
	const uint64_t version = get(head, AT_VERSION, 4);
	const uint64_t bits = get(head, AT_CLUSTER_BITS, 4);
	const uint64_t length = version == 2 ? LENGTH_V2 : get(head, AT_LENGTH, 4);
	int r = 0;

	if (version != 2 && version != 3)
		return mr_err(err, MR_E_USAGE, EINVAL, "qcow version %llu, not 2 or 3" CONVERT,
			      (unsigned long long)version);
	if (get(head, AT_BACKING_OFFSET, 8) || get(head, AT_BACKING_SIZE, 4))
		return refuse(err, "it names another file below it (a backing file)" CONVERT);
	if (get(head, AT_CRYPT, 4))
		return refuse(err, "it is encrypted");
	if (bits < 9 || bits > 21)
		return refuse(err, "its clusters have an impossible size");
	if (version == 3)
		r = judge_features(head, length, err);
	if (r == 0)
		r = judge_extensions(head, length, err);
	if (r == 0 && n < length)
		r = refuse(err, "it ends within its header");
	if (r < 0)
		return r;
	*ret = (struct mr_qcow2_image){ .format = "qcow2", .disk_bytes = get(head, AT_SIZE, 8) };
	return 0;
}

static int judge_raw(const unsigned char *head, uint64_t size, struct mr_qcow2_image *ret,
		     struct mr_error *err)
{
	for (size_t i = 0; i < N_ELEMENTS(others); i++)
		if (memcmp(head + others[i].at, others[i].bytes, others[i].size) == 0)
			return mr_err(err, MR_E_USAGE, EINVAL,
				      "its format is %s, not qcow2 or raw" CONVERT, others[i].name);
	if (size % SECTOR || head[SECTOR - 2] != 0x55 || head[SECTOR - 1] != 0xaa)
		return refuse(err, "unknown format: neither qcow2 nor a raw disk, which has whole "
				   "sectors and a boot signature (55 aa) at the end of the first");
	*ret = (struct mr_qcow2_image){ .format = "raw", .disk_bytes = size };
	return 0;
}

int mr_qcow2_judge(int fd, struct mr_qcow2_image *ret, struct mr_error *err)
{
	unsigned char head[HEAD_BYTES] = { 0 };
	struct mr_qcow2_image image;
	struct stat st;
	ssize_t n;
	int r;

	if (fstat(fd, &st) < 0)
		return mr_err(err, MR_E_SYS, errno, "stat: %m");
	if (!S_ISREG(st.st_mode))
		return refuse(err, "it is no regular file");
	n = pread(fd, head, sizeof(head), 0);
	if (n < 0)
		return mr_err(err, MR_E_SYS, errno, "read: %m");
	r = memcmp(head, magic, sizeof(magic)) == 0
		    ? judge_qcow2(head, (size_t)n, &image, err)
		    : judge_raw(head, (uint64_t)st.st_size, &image, err);
	if (r < 0)
		return r;
	if (image.disk_bytes == 0 || image.disk_bytes > MR_QCOW2_DISK_MAX)
		return mr_err(err, MR_E_USAGE, ERANGE,
			      "a disk of %llu bytes; accepted: up to 2 TiB",
			      (unsigned long long)image.disk_bytes);
	*ret = image;
	return 0;
}

/* --- a layer -------------------------------------------------------------------------- */

#define CLUSTER_BITS 16
#define CLUSTER (1U << CLUSTER_BITS)
#define CLUSTERS (MR_QCOW2_LAYER_BYTES / CLUSTER)
#define OF_L1_ENTRY ((uint64_t)CLUSTER * (CLUSTER / 8)) /* bytes of the disk */
_Static_assert(MR_QCOW2_DISK_MAX / OF_L1_ENTRY <= CLUSTER / 8, "the table has one cluster");

static int write_at(int fd, const void *data, size_t size, off_t at, struct mr_error *err)
{
	ssize_t n = pwrite(fd, data, size, at);

	if (n < 0)
		return mr_err(err, MR_E_SYS, errno, "write: %m");
	return (size_t)n == size ? 0 : mr_err(err, MR_E_SYS, ENOSPC, "write: only a part");
}

int mr_qcow2_write_layer(int fd, uint64_t disk_bytes, struct mr_error *err)
{
	unsigned char head[LENGTH_V3 + 8] = { 0 }, table[8] = { 0 }, counts[2 * CLUSTERS] = { 0 };
	const uint64_t entries = (disk_bytes + OF_L1_ENTRY - 1) / OF_L1_ENTRY;
	int r;

	mr_assert(disk_bytes > 0 && disk_bytes <= MR_QCOW2_DISK_MAX);
	memcpy(head, magic, sizeof(magic));
	put(head, AT_VERSION, 4, 3);
	put(head, AT_CLUSTER_BITS, 4, CLUSTER_BITS);
	put(head, AT_SIZE, 8, disk_bytes);
	put(head, AT_L1_SIZE, 4, entries);
	put(head, AT_L1_OFFSET, 8, 3 * CLUSTER);
	put(head, AT_REFCOUNT_OFFSET, 8, CLUSTER);
	put(head, AT_REFCOUNT_CLUSTERS, 4, 1);
	put(head, AT_REFCOUNT_ORDER, 4, 4); /* 16 bits each */
	put(head, AT_LENGTH, 4, LENGTH_V3);
	put(table, 0, 8, 2 * CLUSTER);
	for (size_t i = 0; i < CLUSTERS; i++)
		put(counts, 2 * i, 2, 1);
	if (ftruncate(fd, MR_QCOW2_LAYER_BYTES) < 0)
		return mr_err(err, MR_E_SYS, errno, "set the size: %m");
	r = write_at(fd, head, sizeof(head), 0, err);
	if (r == 0)
		r = write_at(fd, table, sizeof(table), CLUSTER, err);
	if (r == 0)
		r = write_at(fd, counts, sizeof(counts), 2 * CLUSTER, err);
	return r;
}
