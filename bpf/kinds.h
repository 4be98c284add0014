/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kinds: which kinds of programs this kernel takes
 *
 * For menace-probe-load alone, which links libbpf.
 */
#pragma once

/* Load the smallest program of each kind, and drop it again: its name and 0 or the errno. */
void mr_kinds_try(void (*take)(void *owner, const char *name, int errnum), void *owner);
