#!/usr/bin/python3
"""Expert cases: for each demand of the buyer's guides, a request whose answer must show it.

A case states what must hold between answers, never a figure that the product once gave.
"""
import os
import re
import unittest

from expert import arithmetic, finetuning, generation, peers, pictures, pretraining, renting, senses, training
from expert.asking import CASES, MARKET, services
from expert.guide import DEMANDS, LINES
from service import ROOT, Service

GUIDES = os.path.join(ROOT, "..", "shared", "guides.md")
MODULES = (training, finetuning, generation, pretraining, renting, peers, arithmetic, senses,
           pictures)  # the cases


def setUpModule():
    services["bundled"] = Service(prices="plain")
    services["market"] = Service(prices=MARKET)


def tearDownModule():
    for service in services.values():
        assert service.stop() == 0, service.log


class Guide(unittest.TestCase):
    def test_every_demand_has_a_case(self):
        shown = {demand for demands, _, _ in CASES for demand in demands}
        self.assertEqual(sorted(set(DEMANDS) - shown), [], "demands without a case")
        self.assertEqual(sorted(shown - set(DEMANDS)), [], "cases for what nobody demands")

    def test_there_are_enough_and_each_has_a_name(self):
        self.assertGreaterEqual(len(CASES), 60)
        self.assertEqual(len({sentence for _, sentence, _ in CASES}), len(CASES))

    @unittest.skipUnless(os.path.exists(GUIDES), "../shared/guides.md is not there")
    def test_the_lines_are_those_of_the_guides(self):
        lines, section = [], None
        with open(GUIDES, encoding="utf-8") as file:
            for line in file:
                if line.startswith("## "):
                    section = line[3:].strip()
                elif line.startswith("- "):
                    lines.append((section, line))
        self.assertEqual(len(lines), len(LINES))
        for (section, line), (wanted, word, _) in zip(lines, LINES):
            self.assertEqual(section, wanted)
            self.assertIn(word, line)


class Expert(unittest.TestCase):
    """One test a case, named by its sentence."""


def method(demands, sentence, function):
    def run(self):
        function(self)
    run.__doc__ = " ".join(demands + [sentence])
    return run


for number, (demands, sentence, function) in enumerate(CASES):
    name = "test_%03d_%s" % (number, re.sub(r"\W+", "_", sentence).strip("_"))
    setattr(Expert, name, method(demands, sentence, function))

if __name__ == "__main__":
    unittest.main()
