#!/usr/bin/python3
"""Which other origins' pages may read answers (CORS)."""
import time
import unittest

from gateway import SLOW, Server, get, post

SHOP, LOCAL = "https://shop.example", "http://localhost:3000"
MODELS, SIZING, CONTRACT = "/v1/models?q=llama-3.1-8b", "/v1/sizing", "/openapi.yaml"


def varies(answer):
    """By what, in one header; beside how it is coded."""
    return [name for name in (answer["Vary"] or "").split(", ") if name not in ("", "Accept-Encoding")]


def cors(answer):
    return {k.lower() for k, _ in answer.headers if k.lower().startswith("access-control-")}


class Origins(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(threads=1, cors_origins="%s, %s" % (SHOP, LOCAL))

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()

    def test_listed_origins_may_read_every_answer(self):
        for origin in (SHOP, LOCAL):
            for raw, status in ((get(MODELS, "Origin: " + origin), 200),
                                (get("/v1/none", "Origin: " + origin), 404),
                                (get(MODELS, "Origin: " + origin, "Content-Length: x"), 400),
                                (post(SIZING, b"{}", "Origin: " + origin), 422)):
                answer = self.server.ask(raw)
                if answer.status == 400 and not cors(answer):
                    continue  # the library's own
                self.assertEqual((answer.status, answer["Access-Control-Allow-Origin"],
                                  varies(answer)), (status, origin, ["Origin"]))
                self.assertIn("ETag", answer["Access-Control-Expose-Headers"])
                self.assertIsNone(answer["Access-Control-Allow-Credentials"])

    def test_others_may_not(self):
        for origin in ("https://shop.example.evil", "https://SHOP.example", "http://shop.example",
                       "https://shop.example:444", "https://shop.exampl", "null", "*", ""):
            for method in ("GET", "OPTIONS"):
                answer = self.server.ask(get(MODELS, "Origin: " + origin, method=method))
                self.assertEqual((cors(answer), varies(answer)), (set(), ["Origin"]))
        self.assertEqual(cors(self.server.ask(get(MODELS))), set())

    def test_a_preflight(self):
        ask = "Access-Control-Request-Method: POST"
        answer = self.server.ask(get(SIZING, "Origin: " + SHOP, ask, method="OPTIONS"))
        self.assertEqual((answer.status, answer.body), (204, b""))
        self.assertEqual(answer["Access-Control-Allow-Origin"], SHOP)
        self.assertEqual(answer["Access-Control-Allow-Methods"], "POST, OPTIONS")
        self.assertIn("Content-Type", answer["Access-Control-Allow-Headers"])
        self.assertEqual(answer["Access-Control-Max-Age"], "600")
        plain = self.server.ask(get(SIZING, "Origin: " + SHOP, method="OPTIONS"))
        self.assertIsNone(plain["Access-Control-Allow-Methods"])
        self.assertEqual(plain["Allow"], "POST, OPTIONS")

    def test_a_preflight_of_nothing_is_no_fault_of_ours(self):
        answer = self.server.ask(get("/v1/none", "Origin: " + SHOP, "Access-Control-Request-Method: GET",
                                     "X-Request-Id: preflight-of-nothing", method="OPTIONS"))
        self.assertEqual(answer.status, 404)
        self.assertIsNone(answer["Access-Control-Allow-Methods"])
        end = time.monotonic() + 5 * SLOW
        while not any(line.get("request_id") == "preflight-of-nothing" for line in list(self.server.lines)):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)
        self.assertEqual([line for line in self.server.lines if line["level"] == "error"], [])

    def test_what_varies_is_told_in_one_header(self):
        self.assertEqual(varies(self.server.ask(get(CONTRACT))), ["Accept", "Origin"])

    def test_probes_have_none(self):
        answer = self.server.ask(get("/livez", "Origin: " + SHOP), "ops")
        self.assertEqual((cors(answer), varies(answer)), (set(), []))

    def test_all_origins(self):
        with Server(threads=1, cors_origins="*") as server:
            answer = server.ask(get(MODELS, "Origin: https://any.example"))
            self.assertEqual((answer["Access-Control-Allow-Origin"], varies(answer)), ("*", []))

    def test_none_unless_asked_for(self):
        with Server(threads=1) as server:
            answer = server.ask(get(MODELS, "Origin: " + SHOP))
            self.assertEqual((cors(answer), varies(answer)), (set(), []))


if __name__ == "__main__":
    unittest.main(verbosity=0)
