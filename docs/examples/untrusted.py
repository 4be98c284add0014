# A program that nobody has read.
#
# It does honest work (it computes and writes two files), and tries two things
# that it has no business doing.  It says what came of each.

import hashlib
import os
import socket


def compute():
    """Count the primes below 20000 and hash the list of them."""
    sieve = bytearray([1]) * 20000
    sieve[0:2] = b"\0\0"
    for n in range(2, 142):
        if sieve[n]:
            sieve[n * n::n] = bytes(len(sieve[n * n::n]))
    primes = [n for n in range(len(sieve)) if sieve[n]]
    digest = hashlib.sha256(repr(primes).encode()).hexdigest()
    return len(primes), digest


def write_files(count, digest):
    os.makedirs("report", exist_ok=True)
    with open("report/primes.txt", "w", encoding="ascii") as file:
        file.write(f"{count} primes below 20000\n")
    with open("report/digest.txt", "w", encoding="ascii") as file:
        file.write(digest + "\n")
    return sorted(os.listdir("report"))


def attempt(what, action):
    try:
        print(f"{what}: it worked, {action()}")
    except OSError as error:
        print(f"{what}: {error}")


def call_home():
    with socket.create_connection(("192.0.2.1", 80), timeout=2) as peer:
        return f"connected to {peer.getpeername()}"


def read_secrets():
    with open("/etc/shadow", encoding="utf-8") as file:
        return f"read {len(file.read())} bytes"


found, checksum = compute()
print(f"computed: {found} primes, sha256 {checksum[:16]}...")
print(f"wrote: {write_files(found, checksum)} in {os.getcwd()}/report")
attempt("reach the network", call_home)
attempt("read /etc/shadow", read_secrets)
