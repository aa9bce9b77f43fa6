#!/usr/bin/python3
"""Writes real answers into the examples of openapi.yaml (needs the variables that service.py names).

tests/api/meson.build sets them for tests; by hand:
GPUPICK_BINARY=build/server/gpupick GPUPICK_MAKE_SNAPSHOT=build/tests/api/make_snapshot tests/api/examples.py
"""
import os
import re

import yaml
from service import ROOT, Service

PATH = os.path.join(ROOT, "openapi", "openapi.yaml")
BEGIN, END = "    # --- real answers, written by tests/api/examples.py ---\n", "    # --- end ---\n"


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
