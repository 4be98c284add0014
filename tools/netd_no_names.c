/* SPDX-License-Identifier: Apache-2.0 */
/*
 * No names, no plug-ins
 *
 * OpenSSL can ask the host's resolver and load shared objects, which menace-netd never
 * wants of it.  With these in place of libc's (the linker's --wrap) a static menace-netd
 * has no code for either.
 */
#include <netdb.h>
#include <stddef.h>

int __wrap_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
		       struct addrinfo **ret);
struct hostent *__wrap_gethostbyname(const char *name);
void *__wrap_dlopen(const char *path, int flags);

int __wrap_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
		       struct addrinfo **ret)
{
	(void)node;
	(void)service;
	(void)hints;
	*ret = NULL;
	return EAI_FAIL;
}

struct hostent *__wrap_gethostbyname(const char *name)
{
	(void)name;
	return NULL;
}

void *__wrap_dlopen(const char *path, int flags)
{
	(void)path;
	(void)flags;
	return NULL;
}
