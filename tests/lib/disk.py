#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Disk images for tests: disk.py WHAT FILE [qcow2]
#
# Each is one boot sector that does one thing, in real mode, on the second serial port
# (runtime/backend/qemu_agent.h); "guest here" goes to the first.  With "qcow2" it is wrapped.

import struct
import sys

SPEC, START, STARTED, OUT, ERR, RESULT, FAIL, END = 2, 3, 8, 10, 11, 12, 13, 14
ORIGIN, STORE = 0x7C00, 0x8000
SIZE = 1 << 20


def frame(kind, body=b""):
    return struct.pack("<B3xI", kind, len(body)) + body


class Code:
    """A few instructions, and labels for near calls and jumps."""

    def __init__(self):
        self.code, self.labels, self.holes, self.texts = bytearray(), {}, [], []

    def raw(self, *octets):
        self.code += bytes(octets)

    def label(self, name):
        self.labels[name] = len(self.code)

    def rel(self, opcode, name):
        self.raw(*opcode)
        self.holes.append((len(self.code), name, True))
        self.raw(0, 0)

    def call(self, name):
        self.rel([0xE8], name)

    def jump(self, name):
        self.rel([0xE9], name)

    def jz(self, name):
        self.rel([0x0F, 0x84], name)

    def jc(self, name):
        self.rel([0x0F, 0x82], name)

    def loop(self, name):  # dec cx; jnz
        self.raw(0x49)
        self.rel([0x0F, 0x85], name)

    def send(self, data, port="put"):
        """mov si, text; mov cx, size; each byte to the port"""
        name = "text%d" % len(self.texts)
        self.texts.append((name, data))
        self.raw(0xBE)
        self.holes.append((len(self.code), name, False))
        self.raw(0, 0)
        self.raw(0xB9, len(data) & 255, len(data) >> 8)
        self.call("send_" + port)

    def stay(self):
        name = "stay%d" % len(self.code)
        self.label(name)
        self.raw(0xF4)
        self.jump(name)

    def port(self, name, base):
        """put: al to the port; send: cx bytes from si"""
        self.label(name)
        self.raw(0x50, 0xBA, (base + 5) & 255, base >> 8)  # push ax; mov dx, status
        self.label(name + "_wait")
        self.raw(0xEC, 0xA8, 0x20)  # in al, dx; test al, 32
        self.jz(name + "_wait")
        self.raw(0x58, 0xB2, base & 255, 0xEE, 0xC3)  # pop ax; mov dl, data; out dx, al; ret
        self.label("send_" + name)
        self.raw(0xAC)  # lodsb
        self.call(name)
        self.loop("send_" + name)
        self.raw(0xC3)

    def finish(self):
        self.port("put", 0x2F8)
        self.port("say", 0x3F8)
        self.label("get")  # al from the port
        self.raw(0xBA, 0xFD, 0x02)
        self.label("get_wait")
        self.raw(0xEC, 0xA8, 0x01)
        self.jz("get_wait")
        self.raw(0xB2, 0xF8, 0xEC, 0xC3)
        for name, data in self.texts:
            self.label(name)
            self.code += data
        for at, name, relative in self.holes:
            value = self.labels[name] - at - 2 if relative else ORIGIN + self.labels[name]
            struct.pack_into("<H", self.code, at, value & 0xFFFF)
        assert len(self.code) <= 510, len(self.code)
        return bytes(self.code) + bytes(510 - len(self.code)) + b"\x55\xaa"


def read_order(c):
    """Frames until START; what SPEC brought is at STORE, and its end in di."""
    c.raw(0xBF, STORE & 255, STORE >> 8)  # mov di, STORE
    c.label("frame")
    c.call("get")
    c.raw(0x88, 0xC3)  # mov bl, al
    c.raw(0xB9, 3, 0)
    c.label("zeros")
    c.call("get")
    c.loop("zeros")
    c.call("get")
    c.raw(0x50)  # push ax: low byte of the size
    c.call("get")
    c.raw(0x88, 0xC5)  # mov ch, al
    c.raw(0x51)  # push cx
    c.call("get")
    c.call("get")
    c.raw(0x59, 0x58, 0x88, 0xC1)  # pop cx; pop ax; mov cl, al
    c.raw(0x80, 0xFB, START)  # cmp bl, START
    c.jz("ordered")
    c.label("body")
    c.call("get")
    c.raw(0xAA)  # stosb
    c.loop("body")
    c.jump("frame")
    c.label("ordered")


def send_order_back(c):
    """OUT with what the order was."""
    c.send(struct.pack("<B3x", OUT))
    c.raw(0x81, 0xEF, STORE & 255, STORE >> 8)  # sub di, STORE
    for mov in ([0x89, 0xF8], [0x89, 0xF8, 0x88, 0xE0]):  # mov ax, di; then mov al, ah
        c.raw(*mov)
        c.call("put")
    c.send(bytes(2))
    c.raw(0x89, 0xF9, 0xBE, STORE & 255, STORE >> 8)  # mov cx, di; mov si, STORE
    c.call("send_put")


def greet(c):
    c.send(b"boot noise\r\n\nmenace-agent 1\r\n")
    read_order(c)


def answers(c):
    greet(c)
    c.send(frame(STARTED))
    send_order_back(c)
    c.send(frame(ERR, b"oops\n") + frame(RESULT, b'{"exit": 7}') + frame(END))
    c.stay()


def ends_with(data):
    def body(c):
        greet(c)
        c.send(data)
        c.stay()

    return body


def silent(c):
    c.stay()


def floods(c):
    c.label("again")
    c.send(b"no agent here ")
    c.jump("again")


def babbles(c):
    """Output without end."""
    greet(c)
    c.send(frame(STARTED))
    c.label("again")
    c.send(frame(OUT, b"and on "))
    c.jump("again")


def resets(c):
    c.raw(0xB0, 0xFE, 0xE6, 0x64)  # mov al, 0xfe; out 0x64, al
    c.stay()


def old(c):
    c.send(b"menace-agent 0\n")
    c.stay()


def writes(c):
    """A sector of the disk is overwritten; exit 28 where that fails."""
    c.raw(0x88, 0x16, 0x00, 0x70)  # mov [0x7000], dl: the drive
    greet(c)
    c.send(frame(STARTED))
    c.raw(0x8A, 0x16, 0x00, 0x70)  # mov dl, [0x7000]
    c.raw(0xB8, 0x01, 0x03, 0xB9, 0x02, 0x00, 0xB6, 0x00)  # write 1, sector 2, head 0
    c.raw(0xBB, 0x00, 0x7C, 0xCD, 0x13)  # from where this is; int 0x13
    c.jc("failed")
    c.send(frame(RESULT, b'{"exit": 0}') + frame(END))
    c.stay()
    c.label("failed")
    c.send(frame(RESULT, b'{"exit": 28}') + frame(END))
    c.stay()


KINDS = {
    "answers": answers,
    "silent": silent,
    "floods": floods,
    "babbles": babbles,
    "resets": resets,
    "old": old,
    "writes": writes,
    "hangs": ends_with(frame(STARTED)),
    "garbage": ends_with(b"\xff" * 16),
    "host": ends_with(frame(START)),
    "lies": ends_with(frame(STARTED) + frame(RESULT, b'{"exit": 256}') + frame(END)),
    "early": ends_with(frame(OUT, b"x")),
    "refuses": ends_with(frame(FAIL, b"no such \x1bprogram")),
    "signals": ends_with(frame(STARTED) + frame(RESULT, b'{"signal": 11}') + frame(END)),
}


def boot_sector(what):
    c = Code()
    c.raw(0xFA, 0x31, 0xC0, 0x8E, 0xD8, 0x8E, 0xC0, 0x8E, 0xD0, 0xBC, 0x00, 0x7C, 0xFC)
    # cli; ds = es = ss = 0; sp = 0x7c00; cld; and a firmware that reads needs interrupts
    c.raw(0xFB)
    c.raw(0x52)
    c.send(b"guest here\r\n", "say")
    c.raw(0x5A)  # dl is the drive
    KINDS[what](c)
    return c.finish()


def qcow2(sector):
    """Six clusters: header, counts' table, counts, first table, second table, data."""
    cluster = 65536
    head = struct.pack(">4sIQIIQIIQQIIQQQQII", b"QFI\xfb", 3, 0, 0, 16, SIZE, 0, 1, 3 * cluster,
                       cluster, 1, 0, 0, 0, 0, 0, 4, 104)
    parts = [head, struct.pack(">Q", 2 * cluster), struct.pack(">6H", *[1] * 6),
             struct.pack(">Q", 1 << 63 | 4 * cluster), struct.pack(">Q", 1 << 63 | 5 * cluster),
             sector]
    return b"".join(part.ljust(cluster, b"\0") for part in parts)


def main():
    what, path = sys.argv[1:3]
    sector = boot_sector(what)
    data = qcow2(sector) if sys.argv[3:] == ["qcow2"] else sector.ljust(SIZE, b"\0")
    with open(path, "wb") as file:
        file.write(data)


main()
