#!/usr/bin/python3
"""GET /v1/prices: what a dollar buys, facts of cards and terms as filters and orders; sparse fields."""
import csv
import io
import unittest
from urllib.parse import quote, urljoin

from service import Service

EXTRAS = ("memory_type", "bandwidth_gb_per_second", "tflops_16_bit", "formats",
          "billing_granularity_seconds", "memory_gb_per_usd", "bandwidth_gb_per_second_per_usd",
          "tflops_per_usd")
KEPT = ("id", "provider", "region", "accelerator", "count", "memory_gb", "usd_per_hour", "usd_per_gpu_hour",
        "availability", "price_kind")


def setUpModule():
    global service, rows, cards, steps
    service = Service()
    rows = items("fields=" + ",".join(KEPT + EXTRAS))
    cards = {c["name"]: c for c in service.get("/v1/accelerators").json()["items"]}
    steps = {p["provider"]: (p["terms"] or {}).get("billing_granularity_seconds")
             for p in service.get("/v1/providers").json()["items"]}


def tearDownModule():
    assert service.stop() == 0, service.log


def items(query):
    answer = service.get("/v1/prices?limit=1000&" + query)
    assert answer.status_code == 200, answer.text
    return answer.json()["items"]


def ids(offers):
    return [offer["id"] for offer in offers]


class Values(unittest.TestCase):
    def test_facts_are_those_of_card_and_provider(self):
        known = 0
        for row in rows:
            card = cards.get(row["accelerator"])
            self.assertEqual(row["billing_granularity_seconds"], steps.get(row["provider"]), row)
            if not card:
                self.assertIsNone(row["memory_type"])
                self.assertIsNone(row["formats"])
                continue
            known += 1
            self.assertEqual(row["memory_type"], card["memory_type"])
            self.assertEqual(row["bandwidth_gb_per_second"], card["bandwidth_gb_per_second"])
            self.assertEqual(row["tflops_16_bit"], card["bf16_tflops"] or card["fp16_tflops"])
            names = ("fp32", "tf32", "fp16", "bf16", "fp8", "int8", "fp4")
            peaks = [card.get(n + "_tflops", card.get(n + "_tops")) for n in names]
            self.assertEqual(row["formats"], [n for n, peak in zip(names, peaks) if peak])
        self.assertGreater(known, 500)

    def test_what_a_dollar_buys(self):
        for row in rows:
            card, usd = cards.get(row["accelerator"]), row["usd_per_hour"]
            for name, amount in (
                    ("memory_gb_per_usd", row["memory_gb"]),
                    ("bandwidth_gb_per_second_per_usd",
                     card and (card["bandwidth_gb_per_second"] or 0) * row["count"]),
                    ("tflops_per_usd", card and (row["tflops_16_bit"] or 0) * row["count"])):
                if usd and amount:
                    self.assertAlmostEqual(row[name], amount / usd, delta=0.00051 + 1e-9 * row[name])
                else:
                    self.assertIsNone(row[name], (name, row))


class Filters(unittest.TestCase):
    def check(self, query, keep):
        found, wanted = items(query), [r for r in rows if keep(r)]
        self.assertEqual(sorted(ids(found)), sorted(ids(wanted)), query)
        self.assertTrue(wanted, "the case shows nothing: " + query)
        self.assertLess(len(wanted), len(rows), query)

    def test_each(self):
        self.check("memory_type=HBM3", lambda r: r["memory_type"] == "HBM3")
        self.check("memory_type=hbm3E,GDDR6", lambda r: r["memory_type"] in ("HBM3e", "GDDR6"))
        self.check("memory_type=HBM", lambda r: (r["memory_type"] or "").startswith("HBM"))
        self.check("memory_type=gddr", lambda r: (r["memory_type"] or "").startswith("GDDR"))
        self.check("formats=fp8", lambda r: "fp8" in (r["formats"] or ()))
        self.check("formats=fp4,bf16", lambda r: {"fp4", "bf16"} <= set(r["formats"] or ()))
        self.check("max_billing_granularity_seconds=60", lambda r:
                   r["billing_granularity_seconds"] is not None and r["billing_granularity_seconds"] <= 60)
        for name, least in (("memory_gb_per_usd", 40), ("bandwidth_gb_per_second_per_usd", 1500),
                            ("tflops_per_usd", 200.5)):
            self.check("min_%s=%s" % (name, least),
                       lambda r, name=name, least=least: r[name] is not None and r[name] >= least)

    def test_together_with_others(self):
        self.check("memory_type=HBM&formats=fp8&price_kind=on_demand&min_tflops_per_usd=100&count=8",
                   lambda r: (r["memory_type"] or "").startswith("HBM") and "fp8" in r["formats"] and
                   r["price_kind"] == "on_demand" and (r["tflops_per_usd"] or 0) >= 100 and r["count"] == 8)


class Order(unittest.TestCase):
    KEYS = ("memory_type", "bandwidth_gb_per_second", "tflops_16_bit", "billing_granularity_seconds",
            "memory_gb_per_usd", "bandwidth_gb_per_second_per_usd", "tflops_per_usd")

    def test_every_key_both_ways_unknown_last(self):
        for key in self.KEYS:
            for sign in ("", "-"):
                found = items("sort=%s%s&fields=id,%s" % (sign, key, key))
                self.assertEqual(sorted(ids(found)), sorted(ids(rows)))
                values = [r[key] for r in found]
                known = [v for v in values if v is not None]
                self.assertEqual(values[len(known):], [None] * (len(values) - len(known)), key)
                self.assertEqual(known, sorted(known, reverse=bool(sign)), sign + key)

    def test_pages_are_the_whole_list(self):
        for query in ("sort=-tflops_per_usd", "sort=-memory_gb_per_usd,-usd_per_hour",
                      "sort=memory_type,usd_per_gpu_hour,-usd_per_hour", "sort=bandwidth_gb_per_second_per_usd",
                      "sort=usd_per_gpu_hour,-usd_per_hour", "sort=usd_per_hour", "sort=-usd_per_hour"):
            whole, url, found = ids(items(query)), service.url("/v1/prices?limit=9&" + query), []
            while url:
                page = service.session.get(url).json()
                found += ids(page["items"])
                url = urljoin(url, page["next"]) if page["next"] else None
            self.assertEqual(found, whole, query)

    def test_what_is_sold_out_is_in_its_place(self):
        """Lists keep sold-out offers apart: a page must still find the cheapest and the dearest."""
        sold_out = [r for r in rows if r["availability"] == "no"]
        self.assertTrue(sold_out)
        for sign in ("", "-"):
            whole = sorted((r for r in rows if r["usd_per_hour"] is not None),
                           key=lambda r: r["usd_per_hour"], reverse=bool(sign))
            for limit in (1, 3, 10, 60):
                page = service.get("/v1/prices?limit=%d&sort=%susd_per_hour" % (limit, sign)).json()
                self.assertEqual([r["usd_per_hour"] for r in page["items"]],
                                 [r["usd_per_hour"] for r in whole[:limit]])
        for row in sold_out:
            prices = [r["usd_per_gpu_hour"] for r in rows
                      if r["accelerator"] == row["accelerator"] and r["price_kind"] == row["price_kind"]
                      and r["usd_per_gpu_hour"] is not None]
            told = cards[row["accelerator"]]["prices"][row["price_kind"]]
            self.assertEqual((told["min_usd_per_gpu_hour"], told["max_usd_per_gpu_hour"], told["offers"]),
                             (min(prices), max(prices), len(prices)))


class Fields(unittest.TestCase):
    def test_only_these_in_this_order(self):
        for fields in ("id", "usd_per_hour,provider,id", "formats,memory_type,tflops_per_usd,age_seconds"):
            for row in items("fields=" + fields)[:50]:
                self.assertEqual(list(row), fields.split(","))

    def test_values_are_those_of_the_whole(self):
        whole = {r["id"]: r for r in items("")}
        for row in items("fields=id,zone,count,usd_per_hour,upfront_usd,observed_at,original_currency"):
            for name, value in row.items():
                self.assertEqual(value, whole[row["id"]][name])

    def test_twice_is_once(self):
        self.assertEqual(list(items("fields=id,id,zone,id")[0]), ["id", "zone"])

    def test_csv_has_these_columns(self):
        text = service.get("/v1/prices?limit=1000&format=csv&fields=accelerator,formats,usd_per_hour,memory_type").text
        table = list(csv.reader(io.StringIO(text, newline="")))
        self.assertEqual(table[0], ["accelerator", "formats", "usd_per_hour", "memory_type"])
        self.assertEqual(len(table) - 1, len(rows))
        by_name = {r["accelerator"]: r for r in rows}
        for name, formats, usd, kind in table[1:]:
            self.assertEqual(formats, " ".join(by_name[name]["formats"] or ()))
            self.assertEqual(kind, by_name[name]["memory_type"] or "")
            self.assertRegex(usd, r"^([0-9]+(\.[0-9]+)?)?$")

    def test_a_cursor_goes_on_with_other_fields(self):
        link = service.get("/v1/prices?limit=5&fields=id").json()["next"]
        cursor = link.split("cursor=")[1]
        answer = service.get("/v1/prices?limit=5&fields=id,zone&cursor=" + cursor)
        self.assertEqual(answer.status_code, 200, answer.text)
        self.assertEqual(ids(answer.json()["items"]), ids(items("")[5:10]))

    def test_another_choice_is_another_answer(self):
        tags = {service.get("/v1/prices?limit=5" + more).headers["ETag"]
                for more in ("", "&fields=id", "&fields=id,zone")}
        self.assertEqual(len(tags), 3)


class Csv(unittest.TestCase):
    def test_no_cell_is_a_formula_however_it_is_cut(self):
        text = service.get("/v1/prices?limit=1000&format=csv").text
        cells = [c for row in csv.reader(io.StringIO(text, newline="")) for c in row]
        self.assertIn("' +1;=1+1\t@x", cells)
        self.assertFalse([c for c in cells if c.lstrip(" ")[:1] in set("=+-@|%\t\r\n") - {""}])
        # Where semicolons or tabs separate cells, such a text is one cell still.
        self.assertIn("\"' +1;=1+1\t@x\"", text)


class Faults(unittest.TestCase):
    def faults(self, query):
        answer = service.get("/v1/prices?" + query)
        self.assertEqual(answer.status_code, 400, answer.text)
        return {e["parameter"]: e for e in answer.json()["errors"]}

    def test_each_is_named_and_helped(self):
        found = self.faults("memory_type=HBN3&formats=fp9&fields=id,memry_type&sort=tflop_per_usd&min_tflops_per_usd=x"
                            "&max_billing_granularity_seconds=-1")
        self.assertEqual(set(found), {"memory_type", "formats", "fields", "sort", "min_tflops_per_usd",
                                      "max_billing_granularity_seconds"})
        self.assertEqual(found["fields"]["suggestion"], "memory_type")
        self.assertEqual(found["sort"]["suggestion"], "tflops_per_usd")
        self.assertIn("fp8", found["formats"]["detail"])

    def test_a_wrong_sort_key_lists_the_keys(self):
        detail = self.faults("sort=" + quote("zzzzzz"))["sort"]["detail"]
        for key in Order.KEYS + ("usd_per_hour", "observed_at", "region"):
            self.assertIn("'%s'" % key, detail)


if __name__ == "__main__":
    unittest.main()
