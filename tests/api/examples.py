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
            "PriceAnswer": ("One offer", service.get("/v1/prices?limit=1&provider=lambda")),
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
    start, stop = text.index(BEGIN), text.index(END) + len(END)
    with open(PATH, "w", encoding="utf-8") as file:
        file.write(text[:start] + section + text[stop:])


if __name__ == "__main__":
    main()
