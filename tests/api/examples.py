#!/usr/bin/python3
"""Writes real answers into the examples of openapi.yaml (needs the variables that service.py names).

tests/api/meson.build sets them for tests; by hand:
GPUPICK_BINARY=build/server/gpupick GPUPICK_MAKE_SNAPSHOT=build/tests/api/make_snapshot tests/api/examples.py
"""
import os
import re
import subprocess
import sys
import time

import requests
import yaml
from service import BINARY, ROOT, Service

sys.path[:0] = [os.path.join(ROOT, "tests", "store"), os.path.join(ROOT, "tests", "gateway")]
import price_list_rounds  # noqa: E402
from cluster import Cluster  # noqa: E402
from gateway import Server, get  # noqa: E402

PATH = os.path.join(ROOT, "openapi", "openapi.yaml")
BEGIN, END = "    # --- real answers, written by tests/api/examples.py ---\n", "    # --- end ---\n"


def history():
    """Of a price list that changed, from a database of its own."""
    with Cluster() as cluster:
        subprocess.run([BINARY, "migrate"], env={"GPUPICK_DATABASE_URL": cluster.url}, check=True)
        price_list_rounds.run(cluster.url)
        with Server(snapshot=False, database_url=cluster.url) as server:
            while server.ask(get("/readyz"), "ops").status != 200:
                time.sleep(0.05)
            url = "http://%s/v1/prices" % server.addresses["api"]
            offer = requests.get(url + "?count=8", timeout=20).json()["items"][0]["id"]
            return requests.get(url + "/%s/history" % offer, timeout=20)


def delta():
    """Of the same price list, between two of its rounds."""
    with Cluster() as cluster:
        subprocess.run([BINARY, "migrate"], env={"GPUPICK_DATABASE_URL": cluster.url}, check=True)
        found = []

        def after(number):
            if number not in (1, 2):
                return
            with Server(snapshot=False, database_url=cluster.url, anonymous_scopes="read,private_prices") as server:
                while server.ask(get("/readyz"), "ops").status != 200:
                    time.sleep(0.05)
                url = "http://%s/v1/prices" % server.addresses["api"]
                found.append(requests.get(url + (found[0].json()["delta"] if found else "?availability=yes"),
                                          timeout=20))

        price_list_rounds.run(cluster.url, after)
        return found[-1]


def main():
    with open(PATH, encoding="utf-8") as file:
        text = file.read()
    bodies = yaml.safe_load(text)["components"]["examples"]
    service = Service()
    try:
        request = dict(bodies["QloraRequest"]["value"], limit=1, group="offer")
        answers = {
            "QloraAnswer": ("The first of many", service.post("/v1/recommendations", request)),
            "LaunchAnswer": ("With what starts it", service.post(
                "/v1/recommendations", bodies["LaunchRequest"]["value"])),
            "MethodsAnswer": ("Two of three ways, side by side", service.post(
                "/v1/comparisons", dict(bodies["MethodsComparison"]["value"],
                                        variants=bodies["MethodsComparison"]["value"]["variants"][:2]))),
            "SizingExample": ("By term and by layout", service.post("/v1/sizing", bodies["ChosenSizing"]["value"])),
            "OfferExample": ("One offer", service.get("/v1/prices/" + service.get(
                "/v1/prices?limit=1&provider=lambda").json()["items"][0]["id"])),
            "AcceleratorsExample": ("Of one name", service.get("/v1/accelerators?q=L40S")),
            "AcceleratorExample": ("By an alias", service.get("/v1/accelerators/h100-sxm")),
            "ModelsExample": ("Of one name", service.get("/v1/models?q=llama-3.1-8b")),
            "ModelExample": ("One model", service.get("/v1/models/meta-llama/Llama-3.1-8B")),
            "ProvidersExample": ("Of one name", service.get("/v1/providers?q=lambda")),
            "ProviderExample": ("One provider", service.get("/v1/providers/runpod")),
            "MissingExample": ("With the nearest names", service.get("/v1/models/meta-llama/Llama-3.1-7B")),
            "BadParametersExample": ("Every fault at once", service.get("/v1/prices?limit=0&provder=aws&sort=price")),
            "PriceAnswer": ("One offer", service.get("/v1/prices?limit=1&provider=lambda")),
            "DeltaAnswer": ("One price changed", delta()),
            "HistoryAnswer": ("Listed, changed, withdrawn, back", history()),
            "InvalidAnswer": ("Every fault at once", service.post("/v1/sizing", {
                "workload": {"task": "finetune", "method": "qlora", "precison": "bf16",
                             "epochs": "3", "model": "meta-llama/Llama-3.1-71B"}})),
        }
        section = BEGIN
        for name, (summary, answer) in answers.items():
            value = answer.json()
            value.pop("request_id", None)
            dumped = yaml.safe_dump({name: {"summary": summary, "value": value}}, width=110,
                                    sort_keys=False, allow_unicode=True, default_flow_style=None)
            section += re.sub("(?m)^(?=.)", "    ", dumped)
        section += END
    finally:
        service.stop()
    with open(PATH, encoding="utf-8") as file:
        text = file.read()  # as it is by now: it may be worked on
    start, stop = text.index(BEGIN), text.index(END) + len(END)
    with open(PATH, "w", encoding="utf-8") as file:
        file.write(text[:start] + section + text[stop:])


if __name__ == "__main__":
    main()
