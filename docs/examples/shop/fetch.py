"""fetch.py SECONDS: the orders in euros; the service of rates may take that long"""

import json
import sys
import urllib.request

with urllib.request.urlopen("http://rates.test/v1/EUR", timeout=float(sys.argv[1])) as answer:
    rate = json.load(answer)["rate"]
for line in open("orders.csv"):
    name, amount = line.split(",")
    print(name, float(amount) * rate)
