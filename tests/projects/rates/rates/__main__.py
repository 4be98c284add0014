# SPDX-License-Identifier: Apache-2.0
"""python3 -m rates CURRENCY... <orders.jsonl: the sum of the orders, in each of the currencies

RATES_TIMEOUT are the seconds that an answer may take; rates.json has the currency of the orders.
"""

import json
import os
import re
import sys

from .client import rates_of
from .orders import read_orders


def refuse(why):
    sys.exit(f"rates: {why}")


def timeout():
    try:
        seconds = float(os.environ.get("RATES_TIMEOUT", "15"))
    except ValueError:
        refuse("RATES_TIMEOUT is no number")
    return seconds if 0 < seconds < 600 else refuse("RATES_TIMEOUT is no time")


def own_currency():
    try:
        with open("rates.json", encoding="utf-8") as file:
            currency = json.load(file)["currency"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        refuse(f"rates.json: {error!r}")
    return currency if isinstance(currency, str) else refuse("rates.json: no currency")


def main():
    currencies = sys.argv[1:]
    if not currencies or not all(re.fullmatch("[A-Z]{3}", name) for name in currencies):
        refuse("usage: rates CURRENCY...")
    currency, seconds = own_currency(), timeout()
    lines = sys.stdin.buffer.read().decode("utf-8", "replace").splitlines()
    orders, rejected = read_orders(lines)
    total = sum(amount for _, amount in orders)
    print(f"{len(orders)} orders, {rejected} rejected, {total:.2f} {currency}")
    for name, rate in rates_of(currencies, seconds).items():
        print(f"{name} {total * rate:.2f}" if rate else f"{name} unknown")


if __name__ == "__main__":
    main()
