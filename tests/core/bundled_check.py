#!/usr/bin/env python3
"""The bundled catalogue (server/ingest/bundled.csv) against the fact tables and itself.

usage: bundled_check.py [CSV], from anywhere.
"""
import csv
import datetime
import decimal
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
COLUMNS = (
    "provider,region,zone,instance_type,accelerator,count,tier,price_kind,term_months,memory_gb,"
    "vcpus,ram_gib,disk_gb,price_usd_per_hour,observed_on,source"
).split(",")
KEY = COLUMNS[:9]

# (provider, instance type, region, price kind): ../shared/fixtures/prices/README.md, check values.
ANCHORS = {
    ("aws", "p5.48xlarge", "us-east-1", "on_demand"): "55.04",
    ("aws", "p5.4xlarge", "us-east-1", "on_demand"): "6.88",
    ("aws", "p5en.48xlarge", "us-east-1", "on_demand"): "63.296",
    ("aws", "p6-b200.48xlarge", "us-east-1", "on_demand"): "113.9328",
    ("aws", "p6-b300.48xlarge", "us-east-1", "on_demand"): "142.416",
    ("aws", "p4d.24xlarge", "us-east-1", "on_demand"): "21.957642",
    ("aws", "p4de.24xlarge", "us-east-1", "on_demand"): "27.44705",
    ("aws", "g6e.xlarge", "us-east-1", "on_demand"): "1.861",
    ("azure", "Standard_ND96isr_H100_v5", "eastus", "on_demand"): "98.32",
    ("azure", "Standard_ND96isr_H200_v5", "eastus2", "on_demand"): "84.8",
    ("azure", "Standard_NC24ads_A100_v4", "eastus", "on_demand"): "3.673",
    ("azure", "Standard_NC40ads_H100_v5", "eastus", "on_demand"): "6.98",
    ("azure", "Standard_ND128isr_NDR_GB200_v6", "eastus", "on_demand"): "108.16",
}


def rows_of(name):
    """The designated initialisers of core/data/NAME, one a line, as text by field."""
    text = (ROOT / "core/data" / name).read_text()
    field = re.compile(r'\.(\w+) = ("(?:[^"\\]|\\.)*"|[^,{}]+)')
    return [
        {key: value.strip().strip('"') for key, value in field.findall(line)}
        for line in text.splitlines()
        if line.startswith("{ .")
    ]


def check(rows):
    faults = []
    cards = {row["name"]: float(row["memory_gb"]) for row in rows_of("accelerators.inc")}
    providers = {row["provider"] for row in rows_of("terms.inc")}
    instances = {(row["provider"], row["type"]): row for row in rows_of("instances.inc")}
    keys = set()
    prices = {}

    for number, row in enumerate(rows, 2):

        def fault(text):
            faults.append(f"line {number}: {text}: {row['provider']} {row['instance_type']}")

        key = tuple(row[column] for column in KEY)
        if key in keys:
            fault("the same key twice")
        keys.add(key)
        if row["provider"] not in providers:
            fault("a provider without terms")
        if row["accelerator"] not in cards:
            fault(f"not a canonical accelerator: {row['accelerator']}")
            continue
        if not row["source"]:
            fault("no source")
        if row["price_kind"] not in ("on_demand", "spot", "reserved"):
            fault("an unknown price kind")
        if (row["price_kind"] == "reserved") != (row["term_months"] != "0"):
            fault("a term without a reservation, or the reverse")
        try:
            day = datetime.date.fromisoformat(row["observed_on"])
            if not datetime.date(2025, 1, 1) <= day <= datetime.date(2027, 1, 1):
                fault(f"observed on {day}")
        except ValueError:
            fault(f"not a date: {row['observed_on']}")
        count = decimal.Decimal(row["count"])
        if not 0 < count <= 16:
            fault(f"{count} GPUs")
        if not re.fullmatch(r"\d+(\.\d{1,6})?", row["price_usd_per_hour"]):
            fault(f"not an exact price: {row['price_usd_per_hour']}")
            continue
        price = decimal.Decimal(row["price_usd_per_hour"])
        if not decimal.Decimal("0.05") <= price / count <= 50:
            fault(f"{price / count} USD a GPU-hour")
        memory = float(row["memory_gb"])
        if abs(memory - cards[row["accelerator"]] * float(count)) > 0.01 * memory:
            fault(f"{memory} GB do not fit {count} x {row['accelerator']}")
        for column in ("vcpus", "ram_gib", "disk_gb"):
            if row[column] and not float(row[column]) > 0:
                fault(f"{column} of {row[column]}: what is not known is left out")
        known = instances.get((row["provider"], row["instance_type"]))
        if known:
            if known["accelerator"] != row["accelerator"]:
                fault(f"instances.inc says {known['accelerator']}")
            if abs(float(known["count"]) - float(count)) > 1e-3:
                fault(f"instances.inc says {known['count']} GPUs")
        prices[(row["provider"], row["instance_type"], row["region"], row["price_kind"])] = price

    # Spot above on-demand would be a mixed-up column.
    for (provider, kind_of, region, kind), price in prices.items():
        dearer = prices.get((provider, kind_of, region, "on_demand"))
        if kind == "spot" and dearer is not None and price > dearer:
            faults.append(f"spot above on-demand: {provider} {kind_of} {region}")
    for anchor, price in ANCHORS.items():
        if prices.get(anchor) != decimal.Decimal(price):
            faults.append(f"{' '.join(anchor)} is {prices.get(anchor)}, not {price}")
    count_by_provider = {}
    for row in rows:
        count_by_provider[row["provider"]] = count_by_provider.get(row["provider"], 0) + 1
    if len(count_by_provider) < 10:
        faults.append(f"only {len(count_by_provider)} providers")
    if not 400 <= len(rows) <= 900:
        faults.append(f"{len(rows)} rows")
    if max(count_by_provider.values()) > len(rows) * 0.3:
        faults.append(f"one provider drowns the others: {count_by_provider}")
    return faults, count_by_provider


def main():
    path = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "server/ingest/bundled.csv"
    with path.open(newline="", encoding="ascii") as file:
        reader = csv.DictReader(file, strict=True)
        if reader.fieldnames != COLUMNS:
            sys.exit(f"columns are {reader.fieldnames}")
        rows = list(reader)
    faults, providers = check(rows)
    for fault in faults:
        print(fault)
    print(f"{len(rows)} offers of {len(providers)} providers, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
