#!/usr/bin/python3
"""openapi/walkthrough.md: its outputs are written by the binary, and its requests are answered.

Without arguments this is a test: every request is valid and answered, and every output has the shape
of today's (the figures move with prices and constants). `--write` runs the requests and writes the
outputs anew: build first, and set the variables that service.py names.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

import jsonschema
import yaml
from service import BINARY, MAKE_SNAPSHOT, ROOT

PATH = os.path.join(ROOT, "openapi", "walkthrough.md")
BLOCK = re.compile(r"```json\n(?P<body>.*?)```\n\n```\n\$ gpupick (?P<command>[^\n]*)\n(?P<output>.*?)```\n",
                   re.S)
SCHEMAS = {"recommend": "RecommendationRequest", "compare": "ComparisonRequest",
           "size": "SizingRequest"}
REQUESTS = 10


def answer(folder, body, command):
    """What a start without network answers: the bundled prices, seen now."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GPUPICK_")}
    environment.update({"GPUPICK_DATA": folder, "COLUMNS": "110", "NO_COLOR": "1"})
    words = command.split()
    words[words.index("request.json")] = "-"
    done = subprocess.run([BINARY] + words, input=body, capture_output=True, text=True,
                          env=environment, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def prices(folder):
    subprocess.run([MAKE_SNAPSHOT, os.path.join(folder, "snapshot"), "1", "plain"], check=True,
                   stdout=subprocess.DEVNULL)


def document():
    with open(PATH, encoding="utf-8") as file:
        return file.read()


def shape(output):
    """The first words of the first lines: what was asked, or what was compared."""
    return [line.split()[0] for line in output.splitlines()[:6] if line[:1].strip()][:3]


class Walkthrough(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        prices(cls.folder.name)
        cls.text = document()
        cls.blocks = list(BLOCK.finditer(cls.text))
        with open(os.path.join(ROOT, "openapi", "openapi.yaml"), encoding="utf-8") as file:
            cls.contract = yaml.safe_load(file)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_there_are_ten_and_each_is_explained(self):
        self.assertEqual(len(self.blocks), REQUESTS)
        self.assertEqual(self.text.count("```json\n"), REQUESTS)
        parts = re.split(r"(?m)^## ", self.text)[1:]
        self.assertEqual(len(parts), REQUESTS)
        for part in parts:
            prose = BLOCK.sub("", part).split("\n", 1)[1]
            self.assertGreaterEqual(len(re.findall(r"[.:](\s|$)", prose)), 3, part[:60])

    def test_the_requests_are_those_of_the_contract(self):
        resolver = jsonschema.RefResolver("", self.contract)
        for block in self.blocks:
            schema = {"$ref": "#/components/schemas/" + SCHEMAS[block["command"].split()[0]]}
            jsonschema.Draft202012Validator(schema, resolver=resolver).validate(
                json.loads(block["body"]))

    def test_the_outputs_have_todays_shape(self):
        for block in self.blocks:
            with self.subTest(block["body"][:60]):
                today = answer(self.folder.name, block["body"], block["command"])
                self.assertEqual(shape(today), shape(block["output"]))
                for mark in (r"(?m)^ +#  FIT", r"(?m)^VARIANT", r"(?m)^left out$",
                             r"(?m)^what would help$", r"(?m)^cost of ", r"(?m)^speed$",
                             r"(?m)^nothing that is on sale", r"(?m)^name: gpupick-"):
                    self.assertEqual(bool(re.search(mark, today)),
                                     bool(re.search(mark, block["output"])), mark)
                self.assertTrue(all(len(line) <= 110 or not line.startswith(" ")
                                    for line in block["output"].splitlines()))


def write():
    with tempfile.TemporaryDirectory() as folder:
        prices(folder)
        text = BLOCK.sub(lambda block: "```json\n%s```\n\n```\n$ gpupick %s\n%s```\n" % (
            block["body"], block["command"],
            answer(folder, block["body"], block["command"])), document())
    with open(PATH, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        write()
    else:
        unittest.main()
