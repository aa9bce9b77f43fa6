#!/usr/bin/python3
"""Metrics, alerts, the dashboard and the log: valid for the tools that read them, and about what is really there."""
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

import yaml

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "gateway"))
from gateway import Server, get, post  # noqa: E402

ALERTS = os.path.join(ROOT, "deploy", "alerts.yaml")
CASES = os.path.join(ROOT, "tests", "deploy", "alerts_test.yaml")
PROMTOOL = shutil.which("promtool")
OF_PROMETHEUS = {"up": {"job", "instance"}} # not the service's own
GIVEN = {"job", "instance", "le"}           # labels that scraping adds, and a bucket's
WORDS = re.compile(r"\b(by|on|ignoring|without|group_left|group_right)\s*\([^)]*\)")


def exposed(text):
    """name -> labels, of the text format; names as a query uses them."""
    found = {}
    for line in text.splitlines():
        if line.startswith("# TYPE"):
            _, _, name, kind = line.split()
            for end in ("_bucket", "_sum", "_count") if kind == "histogram" else ("",):
                found.setdefault(name + end, set())
        elif line and not line.startswith("#"):
            name, labels = re.match(r"(\w+)(?:{(.*)})? \S+$", line).groups()
            found.setdefault(name, set()).update(re.findall(r'(\w+)="', labels or ""))
    return found


def asked(expression):
    """(metric, labels in its braces), and the labels it groups by, of a query."""
    text = re.sub(r'"[^"]*"', '""', expression)
    groups = set(re.findall(r"\w+", " ".join(re.findall(r"\b(?:by|on|group_left|group_right)\s*\(([^)]*)\)", text))))
    text = WORDS.sub(" ", text)
    metrics = re.findall(r"\b((?:gpupick|process)_\w+|up)\b\s*(?:{([^}]*)})?", text)
    return [(name, set(re.findall(r"(\w+)\s*[=!]", labels))) for name, labels in metrics], groups


def setUpModule():
    global live, every
    with Server() as server:
        for raw in (get("/v1/prices"), get("/nothing"), post("/v1/sizing", b"{")):
            server.ask(raw)
        answer = server.ask(get("/metrics"), "ops")
    live = answer.body.decode()
    every = subprocess.run([os.environ["GPUPICK_PRINT_METRICS"]], check=True, capture_output=True, text=True).stdout


def queries():
    with open(ALERTS, encoding="utf-8") as file:
        for group in yaml.safe_load(file)["groups"]:
            for rule in group["rules"]:
                yield rule["alert"], rule["expr"]
    with open(os.path.join(ROOT, "deploy", "grafana.json"), encoding="utf-8") as file:
        for panel in json.load(file)["panels"]:
            for target in panel.get("targets", ()):
                yield panel["title"], target["expr"].replace('"$job"', '"gpupick"')


class Metrics(unittest.TestCase):
    def test_promtool_finds_no_fault(self):
        if not PROMTOOL:
            self.skipTest("promtool is not installed")
        for text in (live, every):
            done = subprocess.run([PROMTOOL, "check", "metrics"], input=text, capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))

    def test_each_is_told_once_and_by_route_and_provider(self):
        heads = re.findall(r"(?m)^# TYPE (\w+) ", live)
        self.assertEqual(len(heads), len(set(heads)))
        self.assertLessEqual(set(exposed(every)), set(exposed(live)))
        self.assertIn('route="listPrices",method="GET",code="200"', live)
        self.assertIn('route="createSizing",method="POST",code="400"', live)
        self.assertIn('route="none",method="none",code="404"', live)
        self.assertNotIn("/v1/", live)  # never a path, of which there is no end
        self.assertLessEqual({"provider", "source", "result"}, exposed(every)["gpupick_ingest_runs_total"])
        self.assertIn('result="other"} 1', every)  # an outcome without a name of its own is counted

    def test_queries_ask_for_what_is_there(self):
        known = {name: labels | exposed(every).get(name, set()) for name, labels in exposed(live).items()}
        known.update(OF_PROMETHEUS)
        seen = set()
        for title, expression in queries():
            with self.subTest(title):
                metrics, groups = asked(expression)
                self.assertTrue(metrics, expression)
                of_all = GIVEN.copy()
                for name, labels in metrics:
                    self.assertIn(name, known)
                    self.assertLessEqual(labels, known[name] | GIVEN, name)
                    of_all |= known[name]
                    seen.add(name)
                self.assertLessEqual(groups, of_all)
        # What nobody looks at is not worth its samples.
        unused = set(known) - seen - {name for name in known if name.endswith("_sum")}
        self.assertLessEqual(unused, {"gpupick_kept_evictions_total", "gpupick_kept_items", "process_start_time_seconds",
                                      "gpupick_snapshot_built_timestamp_seconds", "gpupick_ingest_requests_total"} |
                             {name for name in unused if name.startswith(("gpupick_auth", "gpupick_limit"))})

    def test_a_query_for_what_is_not_there_would_be_found(self):
        metrics, groups = asked('sum by (rout) (rate(gpupick_nothing_total{job="x", cod=~"5.."}[5m]))')
        self.assertEqual((metrics, groups), ([("gpupick_nothing_total", {"job", "cod"})], {"rout"}))


@unittest.skipUnless(PROMTOOL, "promtool is not installed")
class Rules(unittest.TestCase):
    def run_promtool(self, *arguments):
        done = subprocess.run([PROMTOOL, *arguments], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_alerts(self):
        self.run_promtool("check", "rules", ALERTS)
        self.run_promtool("test", "rules", CASES)

    def test_each_alert_is_seen_to_fire_and_not_to_fire(self):
        fires, rests = set(), set()
        with open(CASES, encoding="utf-8") as file:
            for case in yaml.safe_load(file)["tests"]:
                for check in case["alert_rule_test"]:
                    (fires if check["exp_alerts"] else rests).add(check["alertname"])
        with open(ALERTS, encoding="utf-8") as file:
            alerts = {r["alert"] for group in yaml.safe_load(file)["groups"] for r in group["rules"]}
        self.assertEqual(fires, alerts)
        self.assertGreater(len(rests), len(alerts) * 0.7)

    def test_queries_of_the_dashboard_parse(self):
        rules = [{"record": "panel:%d" % at, "expr": expression} for at, (_, expression) in enumerate(queries())]
        text = yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]})
        done = subprocess.run([PROMTOOL, "check", "rules", "/dev/stdin"], input=text, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class Log(unittest.TestCase):
    def test_a_problem_names_the_request_and_its_trace(self):
        trace = "4bf92f3577b34da6a3ce929d0e0e4736"
        with Server() as server:
            for raw in (get("/v1/nothing", "traceparent: 00-%s-00f067aa0ba902b7-01" % trace),
                        post("/v1/sizing", b"{", "traceparent: 00-%s-00f067aa0ba902b7-00" % trace)):
                document = server.ask(raw).is_problem()
                self.assertEqual(document["trace_id"], trace)
            self.assertNotIn("trace_id", server.ask(get("/v1/nothing", "traceparent: 00-x")).is_problem())

    def test_each_line_is_an_object_and_a_request_can_be_followed(self):
        trace = "4bf92f3577b34da6a3ce929d0e0e4736"
        with Server() as server:
            answer = server.ask(get("/v1/prices?limit=1", "X-Request-Id: follow-me",
                                    "traceparent: 00-%s-00f067aa0ba902b7-01" % trace, "Authorization: Bearer hush",
                                    "Cookie: hush", "User-Agent: a\"b\\c"))
            server.ask(get('/"\\%0a?x=hush'))
        self.assertEqual(answer["X-Request-Id"], "follow-me")
        self.assertFalse([line for line in server.lines if "raw" in line])
        for line in server.lines:
            self.assertRegex(line["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$")
            self.assertIn(line["level"], ("debug", "info", "warning", "error"))
            self.assertTrue(line["message"])
            self.assertNotIn("hush", json.dumps(line))
        found = [line for line in server.lines if line.get("request_id") == "follow-me"]
        self.assertEqual(len(found), 1)
        self.assertEqual(found[0]["trace_id"], trace)
        self.assertEqual((found[0]["route"], found[0]["status"], found[0]["method"]), ("listPrices", 200, "GET"))
        self.assertEqual(found[0]["bytes"], len(answer.body))
        self.assertGreaterEqual(found[0]["duration_us"], 0)


if __name__ == "__main__":
    unittest.main()
