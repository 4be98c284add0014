/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause */
/*
 * What the relay's programs in the kernel (relay.bpf.c) and those who put them there agree on
 */
#pragma once

#define MR_RELAY_LO 1 /* the loopback is the first link of every namespace */
#define MR_RELAY_IFINDEX 0x6d72 /* asked for by number, so that programs need no memory */
#define MR_RELAY_MARK 0x6d726c79U
