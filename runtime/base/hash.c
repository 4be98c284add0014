/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SHA-256
 *
 * The only file that includes libmd's header.  A file is hashed by pread, so a
 * descriptor that somebody else also reads is not disturbed, and with a bound,
 * so that a file that grows while it is read ends the loop all the same.
 */
#include "runtime/base/hash.h"

#include <errno.h>
#include <sha2.h>
#include <unistd.h>

#include "runtime/base/error.h"
#include "runtime/base/str.h"

static void finish_hex(SHA2_CTX *ctx, char ret_hex[MR_HASH_HEX_SIZE])
{
	uint8_t digest[SHA256_DIGEST_LENGTH];

	SHA256Final(digest, ctx);
	mr_str_hex(digest, sizeof(digest), ret_hex);
}

void mr_hash_hex(const void *buf, size_t size, char ret_hex[MR_HASH_HEX_SIZE])
{
	SHA2_CTX ctx;

	SHA256Init(&ctx);
	if (size > 0)
		SHA256Update(&ctx, buf, size);
	finish_hex(&ctx, ret_hex);
}

int mr_hash_fd(int fd, uint64_t max_bytes, char ret_hex[MR_HASH_HEX_SIZE], uint64_t *ret_bytes,
	       struct mr_error *err)
{
	uint8_t buf[16384];
	uint64_t done = 0;
	SHA2_CTX ctx;

	SHA256Init(&ctx);
	for (;;) {
		ssize_t n = pread(fd, buf, sizeof(buf), (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return mr_err(err, MR_E_SYS, errno, "read file to hash: %m");
		if (n == 0)
			break;
		if ((uint64_t)n > max_bytes - done)
			return 1;
		SHA256Update(&ctx, buf, (size_t)n);
		done += (uint64_t)n;
	}
	finish_hex(&ctx, ret_hex);
	if (ret_bytes)
		*ret_bytes = done;
	return 0;
}
