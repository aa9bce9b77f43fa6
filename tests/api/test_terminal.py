#!/usr/bin/python3
"""`gpupick size` and `gpupick recommend`: the API's answers without a server, and honest exits."""
import json
import os
import subprocess
import tempfile
import unittest

from service import BINARY, Service, snapshot, without_ages

BODY = {"workload": {"task": "finetune", "method": "qlora", "model": "meta-llama/Llama-3.1-70B",
                     "sequence_length": 2048, "micro_batch": 1, "tokens_per_epoch": 5e7},
        "limit": 5}
SIZING = {"workload": BODY["workload"]}


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
        for arguments in ((), ("a", "b"), ("--jason", "a"), ("--json",)):
            for verb in ("size", "recommend"):
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
