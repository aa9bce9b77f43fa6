#!/usr/bin/python3
"""The gateways' files that no test runs: they parse, name every route, and say that they were not run."""
import json
import os
import re
import subprocess
import unittest

import yaml

from front import SHIPPED
from gateway import BINARY


def text(name):
    with open(os.path.join(SHIPPED, name)) as file:
        return file.read()


class Shipped(unittest.TestCase):
    def test_they_parse_and_say_that_they_were_not_run(self):
        for name, parse in (("envoy.yaml", yaml.safe_load), ("kong.yaml", yaml.safe_load),
                            ("krakend.json", json.loads)):
            self.assertTrue(parse(text(name)))
            self.assertIn("NOT RUN", text(name))

    def test_each_lets_go_before_the_service_does(self):
        for name, idle in (("nginx.conf", "keepalive_timeout 55s"), ("Caddyfile", "keepalive 55s"),
                           ("envoy.yaml", "idle_timeout: 55s"),
                           ("kong.yaml", "upstream_keepalive_idle_timeout = 55"),
                           ("krakend.json", '"idle_connection_timeout": "55s"')):
            self.assertIn(idle, text(name))

    def test_krakend_names_every_route(self):
        def anonymous(path):
            return re.sub(r"\{[^}]*\}", "{}", path)

        listed = {(e["method"], anonymous(e["endpoint"]))
                  for e in json.loads(text("krakend.json"))["endpoints"]}
        routes = subprocess.run([BINARY, "routes"], capture_output=True, text=True, check=True)
        wanted = {tuple(line.split("\t")[:2]) for line in routes.stdout.splitlines()}
        wanted = {(m, anonymous(p)) for m, p in wanted if re.match(r"/v1/|/openapi|/docs", p)}
        self.assertEqual(listed - wanted, {("GET", "/v1/models/{}/{}")})
        self.assertEqual(wanted - listed, set())


if __name__ == "__main__":
    unittest.main(verbosity=0)
