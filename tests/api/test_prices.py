#!/usr/bin/python3
"""GET /v1/prices and the facts: filters, order, paging, validators, CSV, exact numbers."""
import csv
import io
import os
import random
import re
import unittest
from decimal import Decimal
from urllib.parse import quote, urljoin

from service import ROOT, Service, exact, without_ages

OFFER_IDS = re.compile("^[0-9a-f]{16}$")


def setUpModule():
    global service, everything
    service = Service()
    everything = service.get("/v1/prices?limit=1000").json()["items"]


def tearDownModule():
    assert service.stop() == 0, service.log


def items(query):
    answer = service.get("/v1/prices?limit=1000&" + query)
    assert answer.status_code == 200, answer.text
    return answer.json()["items"]


def ids(offers):
    return [offer["id"] for offer in offers]


class Filters(unittest.TestCase):
    def check(self, query, keep):
        found = items(query)
        wanted = [offer for offer in everything if keep(offer)]
        self.assertEqual(sorted(ids(found)), sorted(ids(wanted)), query)
        self.assertTrue(wanted, "the case shows nothing: " + query)
        self.assertLess(len(wanted), len(everything), query)

    def test_each(self):
        self.check("provider=aws", lambda o: o["provider"] == "aws")
        self.check("provider=aws,runpod", lambda o: o["provider"] in ("aws", "runpod"))
        self.check("region=us-east-1", lambda o: o["region"] == "us-east-1")
        self.check("country=US", lambda o: o["country"] == "US")
        self.check("country=us,no", lambda o: o["country"] in ("US", "NO"))
        for family in ("H100", "A100", "rtx 4090"):
            self.check("accelerator=" + quote(family),
                       lambda o: o["accelerator"].upper().startswith(family.upper() + " "))
        self.check("accelerator=" + quote("H100 SXM5 80GB"),
                   lambda o: o["accelerator"] == "H100 SXM5 80GB")
        self.check("accelerator=" + quote("h100 sxm5 80gb"),
                   lambda o: o["accelerator"] == "H100 SXM5 80GB")
        self.check("accelerator=" + quote("H900 Ultra"),
                   lambda o: o["accelerator"] == "H900 Ultra")
        self.check("count=8", lambda o: o["count"] == 8)
        self.check("count=0.5,2", lambda o: o["count"] in (0.5, 2))
        self.check("price_kind=spot", lambda o: o["price_kind"] == "spot")
        self.check("availability=yes", lambda o: o["availability"] == "yes")
        self.check("min_memory_gb=640",
                   lambda o: o["memory_gb"] is not None and o["memory_gb"] >= 640)
        self.check("min_memory_per_gpu_gb=80",
                   lambda o: o["memory_per_gpu_gb"] is not None and o["memory_per_gpu_gb"] >= 80)
        self.check("max_usd_per_hour=0.5",
                   lambda o: o["usd_per_hour"] is not None and o["usd_per_hour"] <= 0.5)
        self.check("max_usd_per_gpu_hour=1.5",
                   lambda o: o["usd_per_gpu_hour"] is not None and o["usd_per_gpu_hour"] <= 1.5)

    def test_together(self):
        self.check("price_kind=on_demand&count=8&max_usd_per_hour=30",
                   lambda o: o["price_kind"] == "on_demand" and o["count"] == 8 and
                   o["usd_per_hour"] is not None and o["usd_per_hour"] <= 30)

    def test_an_unknown_price_is_below_no_limit_and_never_zero(self):
        unknown = [o for o in everything if o["usd_per_hour"] is None]
        self.assertEqual([o["instance_type"] for o in unknown], ["unpriced"])
        self.assertIsNone(unknown[0]["usd_per_gpu_hour"])
        self.assertEqual(items("max_usd_per_hour=1e9&accelerator=" + quote("H100 PCIe 80GB")),
                         [o for o in items("accelerator=" + quote("H100 PCIe 80GB"))
                          if o["usd_per_hour"] is not None])

    def test_interconnect(self):
        found = items("interconnect=nvswitch")
        self.assertTrue(found)
        self.assertTrue(all(o["count"] > 1 for o in found))
        self.assertTrue({o["accelerator"] for o in found} >= {"H100 SXM5 80GB"})
        everywhere = sum(len(items("interconnect=" + link)) for link in (
            "single", "nvswitch", "nvlink_mesh", "nvlink_pair", "xgmi", "pcie_peer", "pcie_host",
            "torus", "unknown"))
        self.assertEqual(everywhere, len(everything))


class Order(unittest.TestCase):
    KEYS = ("usd_per_hour", "usd_per_gpu_hour", "memory_gb", "memory_per_gpu_gb", "count",
            "accelerator", "provider", "region", "observed_at")

    def test_every_key_both_ways_unknown_last(self):
        for key in self.KEYS:
            for sign in ("", "-"):
                values = [o[key] for o in items("sort=" + sign + key)]
                known = [v for v in values if v is not None]
                self.assertEqual(values[len(known):], [None] * (len(values) - len(known)), key)
                self.assertEqual(known, sorted(known, reverse=bool(sign)), sign + key)

    def test_ties_go_to_the_next_key(self):
        found = items("sort=-count,accelerator,usd_per_hour")
        keys = [(-o["count"], o["accelerator"],
                 o["usd_per_hour"] if o["usd_per_hour"] is not None else float("inf"))
                for o in found]
        self.assertEqual(keys, sorted(keys))

    def test_the_default_is_price(self):
        self.assertEqual(ids(items("")), ids(items("sort=usd_per_hour")))


class Paging(unittest.TestCase):
    def walk(self, query, limit):
        url, found, pages = service.url("/v1/prices?limit=%d&%s" % (limit, query)), [], 0
        while url:
            answer = service.session.get(url)
            self.assertEqual(answer.status_code, 200, answer.text)
            page = answer.json()
            self.assertLessEqual(len(page["items"]), limit)
            found += page["items"]
            link = answer.headers.get("Link")
            self.assertEqual(link, None if page["next"] is None
                             else '<%s>; rel="next"' % page["next"])
            url = urljoin(url, page["next"]) if page["next"] else None
            pages += 1
            self.assertLess(pages, 2000)
        return found

    def test_pages_are_the_whole_list(self):
        for query in ("", "sort=-usd_per_gpu_hour,provider", "sort=region",
                      "sort=-memory_per_gpu_gb,accelerator,count,usd_per_hour",
                      "sort=-observed_at,-usd_per_hour", "sort=count", "sort=-provider",
                      "sort=-region,memory_gb&count=1,8", "sort=-usd_per_hour&region=FIN-03",
                      "provider=aws,gcp&price_kind=spot", "accelerator=" + quote("H100 SXM5 80GB")):
            whole = ids(items(query))
            for limit in (7, 100):
                self.assertEqual(ids(self.walk(query, limit)), whole, query)

    def test_one_by_one(self):
        query = "provider=lambda&sort=count"
        self.assertEqual(ids(self.walk(query, 1)), ids(items(query)))

    def test_a_cursor_belongs_to_its_filter(self):
        link = service.get("/v1/prices?limit=5&provider=aws").json()["next"]
        cursor = link.split("cursor=")[1]
        for query in ("limit=5&provider=gcp&cursor=" + cursor,
                      "limit=5&provider=aws&sort=count&cursor=" + cursor):
            answer = service.get("/v1/prices?" + query)
            self.assertEqual(answer.status_code, 400)
            self.assertEqual(answer.json()["errors"][0]["parameter"], "cursor")
        # Another page size or format is the same list.
        self.assertEqual(service.get("/v1/prices?limit=6&provider=aws&cursor=" + cursor)
                         .status_code, 200)

    def test_broken_cursors_are_refused_not_served(self):
        cursor = service.get("/v1/prices?limit=5").json()["next"].split("cursor=")[1]
        source = random.Random(2)
        for _ in range(300):
            broken = list(cursor)
            at = source.randrange(len(broken))
            broken[at] = source.choice("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_09")
            broken = "".join(broken)[:source.choice((len(broken), at + 1))]
            answer = service.get("/v1/prices?limit=5&cursor=" + broken)
            self.assertIn(answer.status_code, (200,) if broken == cursor else (400,), broken)

    def test_another_epoch_is_gone_and_a_later_version_waits(self):
        other = Service(version=9)
        try:
            link = other.get("/v1/prices?limit=5").json()["next"]
        finally:
            other.stop()
        answer = service.get("/v1/prices" + link)
        self.assertEqual(answer.status_code, 503)
        self.assertIn("Retry-After", answer.headers)


class Validators(unittest.TestCase):
    PATHS = ("/v1/prices?limit=3", "/v1/accelerators", "/v1/accelerators/L4%2024GB")

    def test_not_modified(self):
        for path in self.PATHS:
            first = service.get(path)
            tag = first.headers["ETag"]
            self.assertRegex(tag, '^W/"')
            for known in (tag, tag[2:], '"x", ' + tag, "*"):
                again = service.get(path, headers={"If-None-Match": known})
                self.assertEqual((again.status_code, again.content), (304, b""), known)
                self.assertEqual(again.headers["ETag"], tag)
            self.assertEqual(service.get(path, headers={"If-None-Match": '"x"'}).status_code, 200)

    def test_what_was_asked_and_the_version_are_in_it(self):
        tags = {service.get(path).headers["ETag"] for path in self.PATHS}
        self.assertEqual(len(tags), len(self.PATHS))
        as_csv = service.get(self.PATHS[0], headers={"Accept": "text/csv"}).headers["ETag"]
        self.assertNotIn(as_csv, tags)
        other = Service(version=8)
        try:
            self.assertNotIn(other.get(self.PATHS[0]).headers["ETag"], tags)
        finally:
            other.stop()

    def test_head_is_get_without_a_body(self):
        for path in self.PATHS + ("/v1/models", "/v1/providers", "/openapi.yaml"):
            got = service.get(path)
            head = service.session.head(service.url(path))
            self.assertEqual((head.status_code, head.content), (200, b""))
            for name in ("Content-Type", "ETag"):
                self.assertEqual(head.headers.get(name), got.headers.get(name), path)
            if "age_seconds" not in got.text:
                self.assertEqual(head.headers["Content-Length"], got.headers["Content-Length"])


class Numbers(unittest.TestCase):
    def test_money_is_exact_as_text(self):
        prices = {}
        for offer in exact(service.get("/v1/prices?limit=1000"))["items"]:
            for key in ("usd_per_hour", "usd_per_gpu_hour"):
                if offer[key] is not None:
                    self.assertRegex(str(offer[key]), r"^[0-9]+(\.[0-9]{0,5}[1-9])?$")
            prices[offer["instance_type"]] = offer
        self.assertEqual(str(prices["spot"]["usd_per_hour"]), "12.345678")
        self.assertEqual(str(prices["spot"]["usd_per_gpu_hour"]), "1.54321")
        self.assertEqual(str(prices["reserved"]["usd_per_hour"]), "15.000001")
        self.assertEqual(prices["reserved"]["term_months"], 12)
        self.assertEqual(str(prices["slice"]["usd_per_gpu_hour"]), "0.62")

    def test_the_bundled_list_survives_to_the_digit(self):
        wanted = {}
        with open(os.path.join(ROOT, "server/ingest/bundled.csv"), encoding="utf-8") as file:
            for row in csv.DictReader(file):
                key = (row["provider"], row["region"], row["zone"], row["instance_type"],
                       row["accelerator"], round(float(row["count"]), 3), row["tier"], row["price_kind"])
                wanted[key] = Decimal(row["price_usd_per_hour"])
        seen = 0
        for offer in exact(service.get("/v1/prices?limit=1000"))["items"]:
            if offer["source"] != "bundled":
                continue
            key = (offer["provider"], offer["region"] or "", offer["zone"] or "",
                   offer["instance_type"] or "", offer["accelerator"], float(offer["count"]),
                   offer["tier"] or "", offer["price_kind"])
            self.assertTrue(key in wanted, key)
            self.assertLessEqual(abs(Decimal(str(offer["usd_per_hour"])) - wanted[key]),
                                 Decimal("0.0000005"), key)
            seen += 1
        self.assertGreater(seen, 500)


class Csv(unittest.TestCase):
    def test_the_same_table(self):
        for ask in (lambda: service.get("/v1/prices?limit=1000&format=csv"),
                    lambda: service.get("/v1/prices?limit=1000", headers={"Accept": "text/csv"})):
            answer = ask()
            self.assertRegex(answer.headers["Content-Type"], "^text/csv")
            rows = list(csv.DictReader(io.StringIO(answer.text, newline="")))
            self.assertEqual([row["id"] for row in rows], ids(everything))
            for row, offer in zip(rows, everything):
                for name, cell in row.items():
                    value = offer[name]
                    if isinstance(value, bool):
                        self.assertEqual(cell, str(value).lower())
                    elif isinstance(value, (int, float)):
                        self.assertEqual(float(cell), value)
                    elif not (value or "").lstrip().startswith(("=", "+")):
                        self.assertEqual(cell, value or "")

    def test_no_cell_is_a_formula(self):
        text = service.get("/v1/prices?limit=1000&format=csv").text
        cells = [cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row]
        self.assertIn("'=cmd|' /C calc'!A0", cells)
        self.assertFalse([cell for cell in cells if cell[:1] in ("=", "+", "@")])

    def test_pages(self):
        answer = service.get("/v1/prices?limit=2&format=csv")
        self.assertIn('rel="next"', answer.headers["Link"])
        self.assertEqual(answer.text.count("\r\n"), 3)


class BadQueries(unittest.TestCase):
    def faults(self, path):
        answer = service.get(path)
        self.assertEqual(answer.status_code, 400, answer.text)
        problem = answer.json()
        self.assertEqual(problem["code"], "invalid_parameter")
        return {(e["parameter"], e["code"]): e.get("suggestion") for e in problem["errors"]}

    def test_all_at_once_with_suggestions(self):
        found = self.faults("/v1/prices?providr=aws&price_kind=spott&limit=0&sort=prize,region"
                            "&count=x&min_memory_gb=-1&max_usd_per_hour=inf&country=usa"
                            "&provider=aws,runpot&accelerator=" + quote("H100 SXM5 80Gb,H100 SXM8") +
                            "&cursor=%21&format=xml&availability=maybe&interconnect=nvswitsh")
        self.assertEqual(found[("providr", "unknown_parameter")], "provider")
        self.assertEqual(found[("price_kind", "unknown_value")], "spot")
        self.assertEqual(found[("provider", "unknown_value")], "runpod")
        self.assertEqual(found[("interconnect", "unknown_value")], "nvswitch")
        self.assertEqual({name for name, _ in found}, {
            "providr", "price_kind", "limit", "sort", "count", "min_memory_gb",
            "max_usd_per_hour", "country", "provider", "accelerator", "cursor", "format",
            "availability", "interconnect"})

    def test_every_route_refuses_unknown_parameters(self):
        some = everything[0]["id"]
        for path in ("/v1/prices/" + some, "/v1/accelerators", "/v1/accelerators/L4%2024GB",
                     "/v1/models", "/v1/models/meta-llama/Llama-3.1-8B", "/v1/providers",
                     "/v1/providers/aws", "/openapi.yaml"):
            self.assertEqual(self.faults(path + "?no_such=1"),
                             {("no_such", "unknown_parameter"): None}, path)

    def test_lenient_is_a_warning(self):
        answer = service.get("/v1/prices?providr=aws&limit=1",
                             headers={"Prefer": "handling=lenient"})
        self.assertEqual(answer.status_code, 200)
        self.assertEqual([(w["pointer"], w["suggestion"]) for w in answer.json()["warnings"]],
                         [("providr", "provider")])


class Facts(unittest.TestCase):
    def test_one_offer(self):
        for offer in everything[:20]:
            self.assertRegex(offer["id"], OFFER_IDS)
            answer = service.get("/v1/prices/" + offer["id"]).json()["offer"]
            for key in answer:
                if key != "age_seconds":
                    self.assertEqual(answer[key], offer[key])
        for missing in ("0123456789abcdef", "x", "0123456789ABCDEF", "%00", "a/b"):
            self.assertIn(service.get("/v1/prices/" + missing).status_code, (400, 404), missing)

    def test_model_ids_with_slashes(self):
        for spelling in ("meta-llama/Llama-3.1-70B", "meta-llama%2FLlama-3.1-70B",
                         "meta-llama%2fLlama-3.1-70B", "META-llama/llama-3.1-70b"):
            answer = service.get("/v1/models/" + spelling)
            self.assertEqual(answer.status_code, 200, spelling)
            self.assertEqual(answer.json()["model"]["id"], "meta-llama/Llama-3.1-70B")
        answer = service.get("/v1/models/meta-llama/Llama-3.1-71B")
        self.assertEqual(answer.status_code, 404)
        self.assertIn("meta-llama/Llama-3.1-70B", answer.json()["detail"])

    def test_every_model_and_accelerator_of_a_list_has_its_own_page(self):
        for model in service.get("/v1/models").json()["items"]:
            one = service.get("/v1/models/" + quote(model["model"]["id"])).json()
            self.assertEqual(one["model"], model["model"])
            parts = sum(one["parameters_by_component"].values())
            self.assertEqual(parts, one["model"]["parameters"], model["model"]["id"])
        for card in service.get("/v1/accelerators").json()["items"]:
            one = service.get("/v1/accelerators/" + quote(card["name"], safe=""))
            self.assertEqual(one.json()["accelerator"], card)

    def test_models_are_searched(self):
        found = service.get("/v1/models?q=LLAMA-3.1").json()["items"]
        self.assertIn("meta-llama/Llama-3.1-8B", [m["model"]["id"] for m in found])
        self.assertLess(len(found), len(service.get("/v1/models").json()["items"]))

    def test_uk_is_taken_as_gb(self):
        wanted = sorted(o["id"] for o in everything if o["country"] == "GB")
        self.assertTrue(wanted)
        for code in ("GB", "uk", "UK"):
            found = service.get("/v1/prices?limit=1000&country=" + code).json()["items"]
            self.assertEqual(sorted(o["id"] for o in found), wanted, code)

    def test_price_ranges_of_accelerators_are_those_of_the_table(self):
        for card in service.get("/v1/accelerators").json()["items"]:
            for kind, prices in card["prices"].items():
                known = [o["usd_per_gpu_hour"] for o in everything
                         if o["accelerator"] == card["name"] and o["price_kind"] == kind and
                         o["usd_per_gpu_hour"] is not None]
                self.assertEqual(prices["offers"], len(known), card["name"])
                self.assertEqual(prices["min_usd_per_gpu_hour"], min(known, default=None))
                self.assertEqual(prices["max_usd_per_gpu_hour"], max(known, default=None))

    def test_providers_tell_freshness_coverage_and_what_is_unmapped(self):
        answer = service.get("/v1/providers").json()
        by_id = {p["provider"]: p for p in answer["items"]}
        self.assertEqual(len(by_id), len(answer["items"]))
        for name, provider in by_id.items():
            own = [o for o in everything if o["provider"] == name]
            coverage = provider["coverage"]
            self.assertEqual(coverage["offers"], len(own), name)
            self.assertEqual(coverage["regions"], len({o["region"] for o in own
                             if o["region"] and o["usd_per_hour"] is not None and
                             o["accelerator_known"]}))
            unplaced = {o["region"] for o in own if o["region"] and o["usd_per_hour"] is not None and
                        o["accelerator_known"] and not o["country"]}
            self.assertEqual(coverage["regions_without_country"], len(unplaced))
            self.assertEqual(set(provider["regions_without_country"]), unplaced)
            self.assertEqual(coverage["bundled"],
                             sum(o["source"] == "bundled" for o in own))
            one = service.get("/v1/providers/" + name).json()["provider"]
            self.assertEqual(without_ages(one), without_ages(provider))
        self.assertEqual([u["spelling"] for u in by_id["runpod"]["unmapped"]], ["H900 Ultra"])
        self.assertEqual(by_id["runpod"]["regions_without_country"], ["MARS-1"])
        self.assertEqual(by_id["aws"]["regions_without_country"], [])
        self.assertEqual(by_id["runpod"]["coverage"]["unpriced"], 1)
        self.assertEqual(by_id["runpod"]["coverage"]["unmapped"], 1)
        catalogue = answer["catalogue"]
        live = {o["provider"] for o in everything if o["source"] != "bundled"}
        self.assertEqual(catalogue["stale_providers"], # AWS' feed is stale, the others' are not
                         sorted({o["provider"] for o in everything} - live | {"aws"}))
        self.assertEqual(catalogue["offers"], len(everything))
        self.assertEqual(catalogue["bundled_offers"],
                         sum(o["source"] == "bundled" for o in everything))
        seen = [o["observed_at"] for o in everything]
        self.assertEqual((catalogue["oldest_observed_at"], catalogue["newest_observed_at"]),
                         (min(seen), max(seen)))
        self.assertTrue(by_id["aws"]["feeds"][0]["stale"])
        self.assertEqual(service.get("/v1/providers/runpot").status_code, 404)


if __name__ == "__main__":
    unittest.main()
