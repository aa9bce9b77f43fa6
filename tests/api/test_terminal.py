#!/usr/bin/python3
"""`gpupick size`, `recommend` and `compare`: the API's answers without a server, and honest exits."""
import json
import os
import pty
import re
import subprocess
import tempfile
import unittest

import yaml
from service import BINARY, Service, snapshot, without_ages

BODY = {"workload": {"task": "finetune", "method": "qlora", "model": "meta-llama/Llama-3.1-70B",
                     "sequence_length": 2048, "micro_batch": 1, "tokens_per_epoch": 5e7},
        "limit": 5}
SIZING = {"workload": BODY["workload"]}
COMPARISON = {"workload": {"task": "finetune", "model": "meta-llama/Llama-3.1-8B",
                           "tokens_per_epoch": 1e7},
              "variants": [{"name": "full", "workload": {"method": "full"}},
                           {"name": "qlora", "workload": {"method": "qlora"}},
                           {"name": "full on a T4", "workload": {"method": "full"},
                            "filters": {"accelerators": ["T4 16GB"], "max_gpus": 1}}]}
SERVICE = {"workload": {"task": "inference", "model": "meta-llama/Llama-3.1-70B",
                        "prompt_tokens": 3000, "output_tokens": 500, "requests_per_second": 3},
           "limit": 5}
NOTHING = {"workload": {"task": "finetune", "method": "full", "model": "meta-llama/Llama-3.1-70B"},
           "filters": {"accelerators": ["L40S 48GB"]}, "constraints": {"max_nodes": 1}}


def run(*arguments, stdin=None, data="/nonexistent", **settings):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GPUPICK_")}
    environment.update({"GPUPICK_DATA": data}, **settings)
    return subprocess.run([BINARY] + list(arguments), input=stdin, capture_output=True, text=True,
                          env=environment, timeout=120, check=False)


class Terminal(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        snapshot(cls.folder.name)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def file(self, body):
        path = os.path.join(self.folder.name, "body.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(body if isinstance(body, str) else json.dumps(body))
        return path

    def test_json_is_the_answer_of_the_api(self):
        service = Service()
        try:
            for verb, path, body in (("size", "/v1/sizing", SIZING),
                                     ("compare", "/v1/comparisons", COMPARISON),
                                     ("recommend", "/v1/recommendations", BODY)):
                for done in (run(verb, "--json", self.file(body), data=self.folder.name),
                             run(verb, "-", "--json", stdin=json.dumps(body),
                                 data=self.folder.name)):
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    self.assertEqual(without_ages(json.loads(done.stdout)),
                                     without_ages(service.post(path, body).json()))
        finally:
            service.stop()

    def test_tables(self):
        done = run("size", self.file(SIZING))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for words in ("meta-llama/Llama-3.1-70B", "weights", "GiB", "H100"):
            self.assertIn(words, done.stdout)
        done = run("recommend", self.file(BODY), data=self.folder.name)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        answer = json.loads(run("recommend", "--json", self.file(BODY),
                                data=self.folder.name).stdout)
        lines = done.stdout.splitlines()
        for item in answer["recommendations"]:
            line = [l for l in lines if l.startswith("%3d  " % item["rank"])]
            self.assertEqual(len(line), 1, item["rank"])
            for text in (item["offer"]["accelerator"], item["offer"]["provider"], item["fit"],
                         "$%.2f" % item["cost"]["total_usd"]):
                self.assertIn(text, line[0])
            codes = ", ".join(warning["code"] for warning in item["warnings"])
            if codes:
                self.assertEqual(lines[lines.index(line[0]) + 1], "     warnings: " + codes)
        catalogue = answer["catalogue"]
        self.assertGreater(catalogue["bundled_offers"], 0)
        self.assertIn("%d of %d prices are bundled, observed between " %
                      (catalogue["bundled_offers"], catalogue["offers"]), done.stdout)
        for exclusion in answer["excluded"]:
            self.assertIn(exclusion["reason"] + ":", done.stdout)
        self.assertLessEqual(max(map(len, lines[:40])), 200)

    def on_terminal(self, width, *arguments, **settings):
        """What a terminal of that width is sent."""
        ours, theirs = pty.openpty()
        environment = {k: v for k, v in os.environ.items() if not k.startswith("GPUPICK_")}
        environment.pop("NO_COLOR", None)
        environment.update({"GPUPICK_DATA": self.folder.name, "TERM": "xterm",
                            "COLUMNS": str(width)}, **settings)
        process = subprocess.Popen([BINARY] + list(arguments), stdout=theirs, env=environment)
        os.close(theirs)
        sent = b""
        while True:
            try:
                sent += os.read(ours, 65536)
            except OSError: # the other end is closed
                break
        os.close(ours)
        self.assertEqual(process.wait(60), 0)
        return sent.decode().replace("\r\n", "\n")

    def test_it_fits_the_terminal(self):
        """Nothing wraps, and nothing is lost to that: every word is there at every width."""
        for verb, body, *rest in (("recommend", BODY), ("recommend", SERVICE),
                                  ("recommend", NOTHING), ("compare", COMPARISON),
                                  ("size", SIZING), ("recommend", BODY, "--explain", "1"),
                                  ("recommend", SERVICE, "--explain", "1")):
            words = None
            for width in (80, 120, 200):
                text = self.on_terminal(width, verb, self.file(body), *rest, NO_COLOR="1")
                for line in text.splitlines():
                    self.assertLessEqual(len(line), width, line)
                found = set(re.findall(r"[\w.$/-]+", re.sub(r"[\d.]+\s+(s|min|h|d)\s+old", "", text)))
                found -= {"GPUS", "WHERE", "PRICE", "BOTTLENECK", "HOW", "bound", "by",
                          "SMALLEST", "CARDS", "smallest", "cards"} # headings
                words = words or found
                self.assertEqual(found, words, (verb, width))

    def test_colours_are_for_terminals_that_want_them(self):
        path = self.file(BODY)
        self.assertIn("\033[", self.on_terminal(120, "recommend", path))
        for settings in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            self.assertNotIn("\033", self.on_terminal(120, "recommend", path, **settings))
        self.assertNotIn("\033", run("recommend", path, data=self.folder.name, TERM="xterm").stdout)
        bare = re.sub(r"\033\[\d*m", "", self.on_terminal(120, "recommend", path))
        self.assertEqual(re.sub(r"[\d.]+\s+(s|min|h|d)\s+old", "", bare), re.sub(
            r"[\d.]+\s+(s|min|h|d)\s+old", "", self.on_terminal(120, "recommend", path, NO_COLOR="1")))

    def test_one_recommendation_in_full(self):
        for body in (BODY, SERVICE):
            path = self.file(body)
            answer = json.loads(run("recommend", "--json", path, data=self.folder.name).stdout)
            item = answer["recommendations"][1]
            done = run("recommend", path, "--explain", "2", data=self.folder.name, COLUMNS="1000")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            cost = item["cost"]
            for note in item["reasons"] + item["warnings"]:
                self.assertIn("  - " + re.split(r" \d+ (?:s|min|h|d)", note["text"])[0], done.stdout)
            for name, part in (("machines", "compute_usd"), ("storage", "storage_usd"),
                               ("in all", "total_usd")):
                line = next(l for l in done.stdout.splitlines() if l.startswith("  %s " % name))
                self.assertAlmostEqual(float(re.search(r"\$([\d.]+)", line)[1]), cost[part],
                                       delta=0.0051)
            memory = item["memory_per_gpu"]
            self.assertIn("%.1f GiB" % (memory["total_bytes"] / 2 ** 30), done.stdout)
            self.assertIn("%.1f GiB" % (memory["usable_bytes"] / 2 ** 30), done.stdout)
            self.assertIn(item["speed"]["bottleneck"], done.stdout)
        done = run("recommend", path, "--explain", "99", data=self.folder.name)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("has 5", done.stderr)

    def test_what_starts_it_goes_into_a_file(self):
        body = dict(SERVICE, filters={"providers": ["aws"]}, launch=True)
        path = self.file(body)
        items = json.loads(run("recommend", "--json", path,
                               data=self.folder.name).stdout)["recommendations"]
        for tool, key, text in (("skypilot", "skypilot", "task"), ("dstack", "dstack", "task"),
                                ("command", "provider", "command")):
            for place, rank in (("", 1), (":1", 1), (":2", 2)):
                done = run("recommend", path, "--launch", tool + place, data=self.folder.name)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertEqual(done.stdout, items[rank - 1]["launch"][key][text])
        self.assertEqual(yaml.safe_load(run("recommend", path, "--launch", "skypilot",
                                            data=self.folder.name).stdout)["name"],
                         "gpupick-llama-3-1-70b")
        path = self.file(dict(SERVICE, filters={"providers": ["hyperstack"]}))
        done = run("recommend", path, "--launch", "dstack", data=self.folder.name)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("dstack does not serve hyperstack", done.stderr)

    def test_a_comparison(self):
        path = self.file(COMPARISON)
        answer = json.loads(run("compare", "--json", path, data=self.folder.name).stdout)
        text = run("compare", path, data=self.folder.name, COLUMNS="1000").stdout
        for variant in answer["variants"]:
            line = next(l for l in text.splitlines() if l.startswith(variant["name"] + "  "))
            self.assertIn("%.1f GiB" % (variant["memory"]["total_bytes"] / 2 ** 30), line)
            if variant["outcome"] == "fits":
                self.assertIn(variant["recommendations"][0]["offer"]["accelerator"], line)
            else:
                self.assertIn("nothing fits", line)
                for exclusion in variant["excluded"]:
                    self.assertIn(exclusion["text"], text)
        self.assertIn(answer["comparison"]["text"], text)
        self.assertIn(answer["variants"][1]["against_first"]["text"], text)

    def test_machines_are_told_apart_from_gpus(self):
        body = {"workload": {"task": "inference", "model": "meta-llama/Llama-3.1-8B",
                             "prompt_tokens": 2000, "output_tokens": 300,
                             "requests_per_second": 100}, "limit": 20}
        answer = json.loads(run("recommend", "--json", self.file(body),
                                data=self.folder.name).stdout)
        lines = run("recommend", self.file(body), data=self.folder.name).stdout.splitlines()
        several = [item for item in answer["recommendations"] if item["plan"]["nodes"] > 1]
        self.assertTrue(several)
        for item in several:
            line = next(l for l in lines if l.startswith("%3d  " % item["rank"]))
            self.assertIn("%d x %d x %s" % (item["plan"]["nodes"], item["plan"]["gpus"],
                                            item["offer"]["accelerator"]), line)

    def test_a_slice_is_no_whole_card(self):
        body = {"workload": {"task": "inference", "model": "meta-llama/Llama-3.2-1B"}, "limit": 5,
                "filters": {"providers": ["azure"], "accelerators": ["A10 24GB"], "max_gpus": 1}}
        answer = json.loads(run("recommend", "--json", self.file(body),
                                data=self.folder.name).stdout)
        lines = run("recommend", self.file(body), data=self.folder.name).stdout.splitlines()
        slices = [i for i in answer["recommendations"] if i["offer"]["count"] < 1]
        self.assertTrue(slices)
        for item in slices:
            line = next(l for l in lines if l.startswith("%3d  " % item["rank"]))
            self.assertIn("%.3g x A10 24GB" % item["offer"]["count"], line)

    def test_sound_is_priced_by_the_hour(self):
        path = self.file({"workload": {"task": "inference", "model": "openai/whisper-large-v3", "mode": "batch",
                                       "audio_hours": 2000}, "limit": 1})
        done = run("recommend", path, data=self.folder.name)
        self.assertIn(" $/AUDIO-H ", done.stdout)
        self.assertNotIn("$/MTOK", done.stdout)
        # The 1500 frames that its encoder takes are not of the 448 tokens that it writes.
        self.assertNotIn("beyond_context", done.stdout)
        self.assertRegex(run("recommend", path, "--explain", "1", data=self.folder.name).stdout,
                         r"(?m)^  an hour of sound +\$")

    def test_what_is_odd_about_a_workload_is_told(self):
        body = {"workload": {"task": "inference", "model": "intfloat/e5-large-v2",
                             "prompt_tokens": 4000}}
        compared = {"workload": dict(body["workload"], prompt_tokens=400),
                    "variants": [{"name": "a"}, {"name": "b", "workload": {"prompt_tokens": 4000}}]}
        for verb, request, pointer in (("size", body, "/workload"), ("recommend", body, "/workload"),
                                       ("compare", compared, "/variants/1/workload")):
            told = "\nmind\n  %s/prompt_tokens: 4000 tokens are more than the 512 " % pointer
            self.assertIn(told, run(verb, self.file(request), data=self.folder.name).stdout)
        body["workload"]["prompt_tokens"] = 400
        self.assertNotIn("\nmind\n", run("recommend", self.file(body),
                                         data=self.folder.name).stdout)

    def test_who_has_no_launch_text_points_to_one_that_has(self):
        body = {"workload": {"task": "inference", "model": "meta-llama/Llama-3.1-8B"},
                "filters": {"providers": ["vast", "verda"]}, "group": "offer", "limit": 100}
        answer = json.loads(run("recommend", "--json", self.file(dict(body, launch=True)),
                                data=self.folder.name).stdout)["recommendations"]
        with_text = [item["rank"] for item in answer if item["launch"]["skypilot"]["task"]]
        without = [item["rank"] for item in answer if not item["launch"]["skypilot"]["task"]]
        self.assertTrue(with_text and without)
        done = run("recommend", self.file(body), "--launch", "skypilot:%d" % without[0],
                   data=self.folder.name)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn(" --launch skypilot:%d\n" % with_text[0], done.stderr)

    def test_faults_are_on_standard_error_with_a_status(self):
        done = run("size", self.file({"workload": dict(BODY["workload"], precison=1,
                                                       model="meta-llama/Llama-3.1-71B")}))
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("/workload/precison: unknown field (did you mean /workload/precision?)",
                      done.stderr)
        self.assertIn("/workload/model", done.stderr)
        for body, words in (("{", "line 1"), ("", "empty"), ("x" * 300000, "larger")):
            done = run("size", self.file(body))
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn(words, done.stderr)

    def test_files_that_cannot_be_read(self):
        for path in (self.folder.name + "/no-such", self.folder.name):
            done = run("size", path)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn(path, done.stderr)

    def test_without_prices_it_says_what_to_do(self):
        done = run("recommend", self.file(BODY))
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("GPUPICK_DATABASE_URL", done.stderr)
        # A database that is down: the snapshot file is used, and it is said.
        done = run("recommend", self.file(BODY), data=self.folder.name,
                   GPUPICK_DATABASE_URL="host=127.0.0.1 port=1 connect_timeout=2")
        self.assertEqual(done.returncode, 0)
        self.assertIn("snapshot", done.stderr)

    def test_wrong_usage(self):
        cases = [(verb, arguments) for verb in ("size", "recommend", "compare")
                 for arguments in ((), ("a", "b"), ("--jason", "a"), ("--json",))]
        cases += [("recommend", ("a", "--explain", n)) for n in ("0", "x", "1x", "-1", "101")]
        cases += [("recommend", ("a", "--launch", n)) for n in ("sky", "skypilot:0", ":1")]
        cases += [("size", ("a", "--explain", "1")), ("recommend", ("a", "--explain"))]
        for verb, arguments in cases:
            with self.subTest((verb, arguments)):
                done = run(verb, *arguments)
                self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
                self.assertIn("usage: gpupick " + verb, done.stderr)

    def test_a_full_disk_is_no_success(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([BINARY, "size", self.file(SIZING)], stdout=full, check=False,
                                  stderr=subprocess.PIPE)
        self.assertNotEqual(done.returncode, 0)


if __name__ == "__main__":
    unittest.main()
