/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signatures
 */
#include "runtime/store/sign.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/str.h"

#define PREFIX "menace-ed25519 "
#define FILE_SIZE (sizeof(PREFIX) - 1 + 2 * crypto_sign_SEEDBYTES + 1)

static int start(struct mr_error *err)
{
	return sodium_init() < 0 ? mr_err(err, MR_E_SYS, EIO, "libsodium cannot be started") : 0;
}

static bool read_hex(const char *hex, unsigned char *ret, size_t size)
{
	size_t n = 0;

	return hex && strlen(hex) == 2 * size &&
	       sodium_hex2bin(ret, size, hex, 2 * size, NULL, &n, NULL) == 0 && n == size;
}

static int take_seed(unsigned char seed[crypto_sign_SEEDBYTES], struct mr_sign_key *ret,
		     struct mr_error *err)
{
	unsigned char public[crypto_sign_PUBLICKEYBYTES];

	_Static_assert(sizeof(ret->secret) == crypto_sign_SECRETKEYBYTES, "size of a secret key");
	if (crypto_sign_seed_keypair(public, ret->secret, seed) != 0)
		return mr_err(err, MR_E_SYS, EIO, "the key cannot be used");
	mr_str_hex(public, sizeof(public), ret->public_hex);
	sodium_memzero(seed, crypto_sign_SEEDBYTES);
	return 0;
}

int mr_sign_key_make(const char *path, struct mr_sign_key *ret, struct mr_error *err)
{
	unsigned char seed[crypto_sign_SEEDBYTES];
	char text[FILE_SIZE + 1], hex[2 * sizeof(seed) + 1];
	mr_auto_close int fd = -1;
	int r = start(err);

	if (r < 0)
		return r;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return mr_err(err, MR_E_SYS, errno, "make key %s: %m", path);
	randombytes_buf(seed, sizeof(seed));
	mr_str_hex(seed, sizeof(seed), hex);
	snprintf(text, sizeof(text), PREFIX "%s\n", hex);
	r = mr_write_full(fd, text, strlen(text));
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	sodium_memzero(text, sizeof(text));
	sodium_memzero(hex, sizeof(hex));
	if (r < 0)
		return mr_err(err, MR_E_SYS, -r, "write key %s: %m", path);
	return take_seed(seed, ret, err);
}

int mr_sign_key_read(const char *path, struct mr_sign_key *ret, struct mr_error *err)
{
	mr_auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	unsigned char seed[crypto_sign_SEEDBYTES];
	char text[FILE_SIZE + 1] = { 0 };
	struct stat st;
	int r = start(err);

	if (r < 0)
		return r;
	if (fd < 0 || fstat(fd, &st) < 0)
		return mr_err(err, MR_E_SYS, errno, "open key %s: %m", path);
	if (!S_ISREG(st.st_mode) || (st.st_mode & 0077) || st.st_uid != geteuid())
		return mr_err(err, MR_E_DENIED, EPERM,
			      "key %s can be read by others: make it yours alone (chmod 600)",
			      path);
	if (mr_read_full(fd, text, sizeof(text)) != FILE_SIZE || text[FILE_SIZE - 1] != '\n' ||
	    !mr_str_starts_with(text, PREFIX))
		return mr_err(err, MR_E_USAGE, EINVAL, "%s is no key of menace", path);
	text[FILE_SIZE - 1] = '\0';
	r = read_hex(text + strlen(PREFIX), seed, sizeof(seed)) ? 0 : -EINVAL;
	sodium_memzero(text, sizeof(text));
	return r < 0 ? mr_err(err, MR_E_USAGE, EINVAL, "%s is no key of menace", path)
		     : take_seed(seed, ret, err);
}

void mr_sign_key_forget(struct mr_sign_key *key)
{
	sodium_memzero(key->secret, sizeof(key->secret));
}

int mr_sign(const struct mr_sign_key *key, const char *text, size_t size,
	    char ret_hex[MR_SIGN_TEXT_SIZE], struct mr_error *err)
{
	unsigned char signature[crypto_sign_BYTES];

	if (crypto_sign_detached(signature, NULL, (const unsigned char *)text, size, key->secret))
		return mr_err(err, MR_E_SYS, EIO, "sign: the key cannot be used");
	mr_str_hex(signature, sizeof(signature), ret_hex);
	return 0;
}

bool mr_sign_is_good(const char *public_hex, const char *text, size_t size, const char *hex)
{
	unsigned char public[crypto_sign_PUBLICKEYBYTES], signature[crypto_sign_BYTES];

	return sodium_init() >= 0 && read_hex(public_hex, public, sizeof(public)) &&
	       read_hex(hex, signature, sizeof(signature)) &&
	       crypto_sign_verify_detached(signature, (const unsigned char *)text, size, public) ==
		       0;
}
