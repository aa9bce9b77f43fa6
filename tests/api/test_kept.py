#!/usr/bin/python3
"""What is kept between requests: the same answer sooner, never another one."""
import re
import threading
import time
import unittest

from service import SLOW, Service

SERVING = {"task": "inference", "model": "meta-llama/Llama-3.1-8B", "prompt_tokens": 1500,
           "output_tokens": 300, "requests_per_second": 2, "peak_requests_per_second": 12}
# Ages run on, and so do texts that tell them.
AGES = re.compile(r'"[a-z_]*age[a-z_]*": ?-?[0-9]+|[0-9.]+ (s|min|h|days) (old|ago)')


def setUpModule():
    global service
    service = Service()


def tearDownModule():
    assert service.stop() == 0, service.log


def ask(workload, **rest):
    answer = service.post("/v1/recommendations", {"workload": workload, **rest})
    assert answer.status_code == 200, answer.text
    return answer


def kept(name, what):
    text = service.session.get(service.url("/metrics", "ops")).text
    return int(float(re.search(r'^gpupick_kept_%s{what="%s"} (\S+)$' % (name, what), text,
                               re.M).group(1)))


def without_ages(text):
    return AGES.sub("", text)


class Kept(unittest.TestCase):
    def test_a_request_that_comes_again_gets_the_same_answer(self):
        workload = dict(SERVING, prompt_tokens=1501)
        for _ in range(5):  # a snapshot may come between two, and takes what is kept with it
            first = ask(workload)
            hits = kept("hits_total", "answers")
            second = ask(workload)
            third = ask(workload)
            if kept("hits_total", "answers") == hits + 2:
                break
        else:
            self.fail("nothing is kept")
        self.assertEqual(without_ages(first.text), without_ages(second.text))
        self.assertEqual(without_ages(first.text), without_ages(third.text))
        self.assertGreater(len(first.json()["recommendations"]), 3)

    def test_ages_are_those_of_now(self):
        def ages(answer):
            offers = [r["offer"] for r in answer["recommendations"]]
            offers += [a for r in answer["recommendations"] for a in r["alternatives"]]
            return ([answer["catalogue"]["age_seconds"]] + [o["age_seconds"] for o in offers] +
                    [r["price_age_seconds"] for r in answer["recommendations"]])

        workload = dict(SERVING, prompt_tokens=1502)
        for _ in range(5):
            first = ask(workload).json()
            hits = kept("hits_total", "answers")
            time.sleep(2.1)
            second = ask(workload).json()
            if kept("hits_total", "answers") == hits + 1:
                break
        else:
            self.fail("nothing is kept")
        more = {b - a for a, b in zip(ages(first), ages(second))}
        self.assertEqual(len(ages(first)), len(ages(second)))
        self.assertGreaterEqual(min(more), 2)
        self.assertLess(max(more), 2 + 20 * SLOW)
        self.assertLessEqual(max(more) - min(more), 1)  # each is rounded down by itself
        del first["catalogue"]["age_seconds"], second["catalogue"]["age_seconds"]
        self.assertEqual(first["catalogue"], second["catalogue"])

    def test_a_filter_by_age_is_asked_anew(self):
        workload = dict(SERVING, prompt_tokens=1504)
        hits = kept("hits_total", "answers")
        for _ in range(2):
            ask(workload, filters={"max_price_age_seconds": 31536000})
        self.assertEqual(kept("hits_total", "answers"), hits)

    def test_plans_serve_other_filters_and_amounts_of_work(self):
        workload = dict(SERVING, prompt_tokens=1503)
        everything = ask(workload, limit=100).json()["recommendations"]
        hits, misses = kept("hits_total", "plans"), kept("misses_total", "plans")
        few = ask(workload, limit=100,
                  filters={"price_kinds": ["on_demand"]}).json()["recommendations"]
        ask(dict(workload, requests=1e6), limit=100)
        self.assertGreaterEqual(kept("hits_total", "plans"), hits + 2)
        self.assertEqual(kept("misses_total", "plans"), misses)
        of = {(r["offer"]["id"]): r for r in everything}
        shared = [r for r in few if r["offer"]["id"] in of]
        self.assertGreater(len(shared), 3)
        for one in shared:
            self.assertEqual(one["plan"], of[one["offer"]["id"]]["plan"])
            self.assertEqual(one["cost"], of[one["offer"]["id"]]["cost"])

    def test_faults_are_not_kept(self):
        bad = dict(SERVING, prompt_tokens=-1)
        for _ in range(3):
            answer = service.post("/v1/recommendations", {"workload": bad})
            self.assertEqual(answer.status_code, 422)
            self.assertIn("/workload/prompt_tokens", answer.text)

    def test_many_at_once(self):
        texts, threads = [], []

        def work(number):
            for i in range(6):
                workload = dict(SERVING, prompt_tokens=1600 + (number + i) % 3)
                texts.append((workload["prompt_tokens"], without_ages(ask(workload).text)))

        for number in range(8):
            threads.append(threading.Thread(target=work, args=(number,)))
            threads[-1].start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(texts), 48)
        self.assertEqual(len(set(texts)), 3)

    def test_a_service_tells_what_is_left_and_how_it_scales(self):
        for one in ask(SERVING).json()["recommendations"]:
            levels = one["service"]
            self.assertLessEqual(levels["utilisation"], 0.8 + 1e-6)
            self.assertGreaterEqual(levels["spare_requests_per_second"], 0)
            self.assertGreaterEqual(levels["ttft_seconds"], one["speed"]["ttft_seconds"])
            self.assertLessEqual(levels["idle"]["nodes"], levels["mean"]["nodes"])
            self.assertLessEqual(levels["mean"]["nodes"], one["plan"]["nodes"])
            self.assertLessEqual(levels["mean"]["replicas"], levels["peak"]["replicas"])
            self.assertEqual(levels["peak"]["requests_per_second"], 12)
            self.assertGreaterEqual(one["plan"]["idle_gpus"], 0)
        no_rate = dict(SERVING, concurrency=4)
        del no_rate["requests_per_second"], no_rate["peak_requests_per_second"]
        self.assertNotIn("service", ask(no_rate).json()["recommendations"][0])

    def test_defaults_are_named(self):
        answer = ask(SERVING).json()
        self.assertEqual(answer["considered"]["max_nodes"], 8)
        self.assertEqual(answer["considered"]["defaults"], ["max_nodes"])
        self.assertIn("max_tpot_seconds", answer["workload"]["defaults"])
        asked = ask(dict(SERVING, max_tpot_seconds=0), constraints={"max_nodes": 2}).json()
        self.assertEqual(asked["considered"]["max_nodes"], 2)
        self.assertEqual(asked["considered"]["defaults"], [])
        self.assertNotIn("max_tpot_seconds", asked["workload"]["defaults"])


if __name__ == "__main__":
    unittest.main()
