#!/usr/bin/python3
"""GET /v1/prices/{id}/history against a private PostgreSQL: a replayed month.

Run by tests/store/cluster.py. The month is written day by day as the worker would have, with housekeeping
after each day (its clock is moved by keeping more days the further back the day is); what the route then
tells is compared with what the list of changes says, grouped here.
"""
import csv
import datetime
import io
import itertools
import json
import os
import random
import subprocess
import sys
import threading
import time
import unittest
from datetime import timedelta
from decimal import Decimal
from urllib.parse import urljoin

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "store"), os.path.join(HERE, "..", "gateway")]
import openapi_check  # noqa: E402
import price_list_rounds  # noqa: E402
import requests  # noqa: E402
from cluster import find_bindir  # noqa: E402
from gateway import BINARY, SLOW, Reader, Server, get  # noqa: E402

UTC = datetime.timezone.utc
KEEP_CHANGES, KEEP_HOURS, KEEP_DAYS = 8, 20, 33  # days; the worker's own figures are larger
MONTH = 45
PRICES = "/v1/prices/%016x/history"


def sql(text):
    done = subprocess.run([os.path.join(find_bindir(), "psql"), "-X", "-q", "-At", "-v", "ON_ERROR_STOP=1",
                           os.environ["GPUPICK_DATABASE_URL"]], input=text, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def signed(offer):
    return offer - (1 << 64) if offer >= 1 << 63 else offer


def add_offer(offer, withdrawn="null"):
    sql("insert into offer (id, provider, region, zone, instance_type, accelerator, count_milli, tier, price_kind,"
        " term_months, is_mapped, interconnect, country, price_micros, upfront_micros, price_basis,"
        " original_currency, original_amount, availability, source, follows_feed, observed_at, first_seen_at,"
        " last_seen_at, withdrawn_at) values (%d, 'lambda', 'r', '', 'type-%x', 'H100 SXM5 80GB', 8000, '',"
        " 'on_demand', 0, true, '', 'US', 1000000, 0, 'instance', 'USD', '1', 'yes', 'test', false, now(), now(),"
        " now(), %s)" % (signed(offer), offer, withdrawn))


def add_day(day, changes):
    """Its partition, as make_price_days() would have made it, and its rows."""
    name = "price_change_" + day.strftime("%Y%m%d")
    rows = ",".join("(%d,%d,'%s','%s',%s,'%s',%s)" % (
        c["version"], signed(c["offer"]), c["at"].isoformat(), c["event"],
        "null" if c["micros"] is None else c["micros"], c["availability"],
        "null" if c["quantity"] is None else c["quantity"]) for c in changes)
    sql("""do $$ begin if to_regclass('%s') is null then
        create table %s (like price_change including all);
        alter table price_change attach partition %s for values from ('%s') to ('%s');
        alter table %s owner to gpupick_owner; end if; end $$;""" % (
            name, name, name, day.isoformat(), (day + timedelta(days=1)).isoformat(), name) +
        ("insert into price_change (version, offer_id, at, event, price_micros, availability, quantity) values %s;"
         "update clock set version = %d;" % (rows, changes[-1]["version"]) if changes else ""))


def keep_house(days_ago):
    """As of that many days ago, in a session whose time zone is half an hour off."""
    sql("set timezone = 'Asia/Kolkata'; select drop_price_days(%d); select drop_price_hours(%d, %d);" % (
        KEEP_CHANGES + days_ago, KEEP_HOURS + days_ago, KEEP_DAYS + days_ago))


def text_of(time_):
    if time_.microsecond:
        return time_.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return time_.strftime("%Y-%m-%dT%H:%M:%SZ")


STEPS = ("change", "hour", "day", "week")


def start_of(step, at):
    midnight = at.replace(hour=0, minute=0, second=0, microsecond=0)
    return {"change": at, "hour": at.replace(minute=0, second=0, microsecond=0), "day": midnight,
            "week": midnight - timedelta(days=midnight.weekday())}[step]


LENGTH = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(days=7)}


def expected(changes, step, edges, begin=None, end=None):
    """What the route must tell of the whole list of one offer's changes."""
    if step != "change":
        begin = begin and start_of(step, begin)
        end = end and start_of(step, end - timedelta(microseconds=1)) + LENGTH[step]
    groups = {}
    for change in changes:
        at = change["at"]
        if at < edges["days_since"]:
            continue
        kept = "change" if at >= edges["complete_since"] else "hour" if at >= edges["hours_since"] else "day"
        piece = start_of(kept, at)
        piece_end = piece + LENGTH[kept] if kept != "change" else piece + timedelta(microseconds=1)
        if (begin and piece_end <= begin) or (end and piece >= end):
            continue
        told = max(step, kept, key=STEPS.index)
        key = (start_of(step, piece), change["version"] if told == "change" else 0)
        groups.setdefault(key, (told, []))[1].append(change)
    items = []
    for (start, _), (told, group) in sorted(groups.items()):
        known = [c["micros"] for c in group if c["micros"] is not None]
        items.append({
            "at": text_of(start), "step": told, "event": group[-1]["event"], "changes": len(group),
            "open_usd_per_hour": group[0]["micros"], "last_usd_per_hour": group[-1]["micros"],
            "low_usd_per_hour": min(known, default=None), "high_usd_per_hour": max(known, default=None),
            "availability": group[-1]["availability"], "quantity": group[-1]["quantity"]})
    return items


def micros_of(item):
    """Prices as exact micro-dollars."""
    return {k: (None if v is None else int(Decimal(v) * 1000000)) if k.endswith("_usd_per_hour")
            else int(v) if isinstance(v, str) and k in ("changes", "quantity") else v for k, v in item.items()}


def ask(path, client=None, **headers):
    head = "GET %s HTTP/1.1\r\nHost: x\r\n%s\r\n" % (
        path, "".join("%s: %s\r\n" % (k.replace("_", "-"), v) for k, v in headers.items()))
    if client:
        client.sendall(head.encode())
        return Reader(client).answer()
    return server.ask(head.encode())


def load(answer):
    return json.loads(answer.body, parse_float=str, parse_int=str)


def whole(path, limit):
    """All pages; the last answer too."""
    items, url = [], path + ("&" if "?" in path else "?") + "limit=%d" % limit
    while url:
        answer = ask(url)
        assert answer.status == 200, answer.body
        page = load(answer)
        assert len(page["items"]) <= limit
        items += page["items"]
        assert answer["Link"] == (page["next"] and '<%s>; rel="next"' % page["next"])
        url = page["next"] and urljoin(url, page["next"])
    return items, page


class Month:
    """Changes of five offers: many an hour, few, on the very edges of hours and days, with gaps."""

    OFFERS = (0x1, 0x7fffffffffffffff, 0x8000000000000000, 0xffffffffffffffff, 0xabcdef0123456789)

    def __init__(self, seed, today):
        self.random = random.Random(seed)
        self.start = today - timedelta(days=MONTH - 1)
        self.version = 0
        self.changes = {offer: [] for offer in self.OFFERS}
        self.on_sale = dict.fromkeys(self.OFFERS, False)

    def times(self, day):
        edges = [timedelta(0), timedelta(hours=5), timedelta(hours=6) - timedelta(microseconds=1),
                 timedelta(days=1) - timedelta(microseconds=1)]
        drawn = [timedelta(microseconds=self.random.randrange(86400 * 10 ** 6)) for _ in range(14)]
        burst = timedelta(hours=self.random.randrange(23), minutes=30)
        drawn += [burst + timedelta(minutes=n) for n in range(6)]
        return sorted(day + t for t in edges + drawn + drawn[-2:])  # two versions of one time

    def day(self, number):
        day, rows = self.start + timedelta(days=number), []
        for at in self.times(day):
            self.version += 1
            for place, offer in enumerate(self.OFFERS):
                if self.random.random() > (0.9, 0.3, 0.3, 0.05, 0.5)[place] or (place == 3 and number % 3):
                    continue
                on_sale = self.on_sale[offer]
                event = ("withdrawn" if self.random.random() < 0.1 else "changed") if on_sale else "listed"
                self.on_sale[offer] = event != "withdrawn"
                change = {"version": self.version, "offer": offer, "at": at, "event": event,
                          "micros": self.random.choice([None, 1, 999999, 2390000]) if self.random.random() < .3
                          else self.random.randrange(1, 10 ** 8),
                          "availability": self.random.choice(["yes", "no", "unknown"]),
                          "quantity": self.random.choice([None, 0, 3])}
                rows.append(change)
                self.changes[offer].append(change)
        return day, rows


def setUpModule():
    global server, month, today
    subprocess.run([BINARY, "migrate"], check=True, stdout=subprocess.DEVNULL, env=dict(os.environ))
    today = datetime.datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    month = Month(int(os.environ.get("GPUPICK_TEST_SEED", "11")), today)
    for offer in Month.OFFERS:
        add_offer(offer)
    sql("update history set changes_from = '%s', hours_from = '%s', days_from = '%s'" % (
        (month.start.isoformat(),) * 3))
    server = Server(snapshot=False, database_url=os.environ["GPUPICK_DATABASE_URL"], threads=2,
                    anonymous_scopes="read,private_prices")


def tearDownModule():
    server.__exit__()


class AReplayedMonth(unittest.TestCase):
    """First in order of name: the other cases look at the month that it leaves."""

    def edges(self, number):
        def edge(keep):
            return max(month.start, month.start + timedelta(days=number - keep))
        return {"complete_since": edge(KEEP_CHANGES), "hours_since": edge(KEEP_HOURS),
                "days_since": edge(KEEP_DAYS)}

    def compare(self, number):
        edges = self.edges(number)
        now = month.start + timedelta(days=number)
        ranges = [(None, None), (edges["complete_since"] - timedelta(hours=7, minutes=20), None),
                  (edges["hours_since"] + timedelta(hours=5), edges["complete_since"] + timedelta(hours=3)),
                  (edges["hours_since"] - timedelta(days=2, minutes=1), edges["hours_since"] + timedelta(minutes=90)),
                  (now + timedelta(hours=5), now + timedelta(hours=6))]
        for offer in Month.OFFERS:
            for step, (begin, end) in itertools.product(STEPS, ranges):
                if end and end <= begin:
                    continue  # in the first days the edges are one
                query = "".join("&%s=%s" % (k, text_of(v)) for k, v in (("from", begin), ("to", end)) if v)
                items, page = whole(PRICES % offer + "?step=" + step + query, 1000)
                for name, edge in edges.items():
                    self.assertEqual(page[name], text_of(edge), (number, name))
                wanted = expected(month.changes[offer], step, edges, begin, end)
                self.assertEqual([micros_of(i) for i in items], wanted, (number, hex(offer), step, query))
                if begin is None and step != "change":
                    kept = [c for c in month.changes[offer] if c["at"] >= edges["days_since"]]
                    self.assertEqual(sum(int(i["changes"]) for i in items), len(kept))

    def test_every_change_exactly_once(self):
        shown = {0, KEEP_CHANGES, KEEP_CHANGES + 1, KEEP_HOURS + 2, KEEP_DAYS + 3, MONTH - 1}
        for number in range(MONTH):
            add_day(*month.day(number))
            if number in shown:
                self.compare_before_and_after(number)
            else:
                keep_house(MONTH - 1 - number)
        counts = sql("select (select count(*) from price_change) > 0, (select count(*) from price_hour) > 0,"
                     " (select count(*) from price_day) > 0")
        self.assertEqual(counts, "t|t|t")
        self.roll_up_under_readers()

    def roll_up_under_readers(self):
        """A roll-up that takes its time is seen whole or not at all, by whoever reads meanwhile."""
        offer = Month.OFFERS[0]
        path, since = PRICES % offer, self.edges(MONTH - 1)["days_since"]
        wanted = len([c for c in month.changes[offer] if c["at"] >= since])
        ended, seen = threading.Event(), []

        def read():
            with server.connect(timeout=30) as client:
                while not ended.is_set():
                    page = json.loads(ask(path + "?step=week", client).body)
                    seen.append((page["complete_since"], sum(i["changes"] for i in page["items"])))

        readers = [threading.Thread(target=read) for _ in range(6)]
        for reader in readers:
            reader.start()
        sql("begin; select drop_price_days(%d); select pg_sleep(0.5); commit;" % (KEEP_CHANGES - 3))
        time.sleep(0.2)
        ended.set()
        for reader in readers:
            reader.join()
        self.assertEqual({total for _, total in seen}, {wanted})
        self.assertEqual(len({edge for edge, _ in seen}), 2)  # some saw it before, some after

    def compare_before_and_after(self, number):
        if number > KEEP_DAYS:  # the edges are yesterday's until the house is kept
            before = [whole(PRICES % offer + "?step=week", 1000)[0] for offer in Month.OFFERS]
        keep_house(MONTH - 1 - number)
        if number > KEEP_DAYS:
            since = text_of(start_of("week", self.edges(number)["days_since"]) + timedelta(days=7))
            after = [whole(PRICES % offer + "?step=week", 1000)[0] for offer in Month.OFFERS]
            for old, new in zip(before, after):  # weeks that lost no day say the same
                self.assertEqual([i for i in old if i["at"] >= since], [i for i in new if i["at"] >= since])
        self.compare(number)


class Route(unittest.TestCase):
    OFFER = Month.OFFERS[0]

    def test_pages_are_the_whole(self):
        for step in STEPS:
            path = PRICES % self.OFFER + "?step=" + step
            everything = whole(path, 1000)[0]
            for limit in (1, 7, 100) if step != "change" else (31, 100):
                self.assertEqual(whole(path, limit)[0], everything, (step, limit))

    def test_csv_says_the_same(self):
        path = PRICES % self.OFFER + "?limit=100"
        items = load(ask(path))["items"]
        for answer in (ask(path + "&format=csv"), ask(path, Accept="text/csv")):
            self.assertEqual(answer["Content-Type"], "text/csv; charset=utf-8; header=present")
            rows = list(csv.DictReader(io.StringIO(answer.body.decode())))
            self.assertEqual(rows, [{k: "" if v is None else v for k, v in i.items()} for i in items])
        self.assertIsNotNone(answer["Link"])

    def test_validators(self):
        path = PRICES % self.OFFER + "?step=day"
        first = ask(path)
        again = ask(path, If_None_Match=first["ETag"])
        self.assertEqual((again.status, again.body), (304, b""))
        with server.connect() as client:
            client.sendall(("HEAD %s HTTP/1.1\r\nHost: x\r\n\r\n" % path).encode())
            head = Reader(client).answer(head=True)
            self.assertEqual((head.status, head["Content-Length"]), (200, str(len(first.body))))
            self.assertEqual(ask("/v1/prices?limit=1", client).status, 200)  # the connection goes on

    def test_what_was_withdrawn_has_a_history_and_what_never_was_has_none(self):
        add_offer(0x77, "'%s'" % today.isoformat())
        gone = json.loads(ask(PRICES % 0x77).body)
        self.assertEqual((gone["items"], gone["next"]), ([], None))
        self.assertEqual((gone["offer"]["id"], gone["offer"]["withdrawn_at"]),
                         ("0000000000000077", text_of(today)))
        for path, part in ((PRICES % 0x78, "ever"), ("/v1/prices/nonsense/history", "hexadecimal")):
            problem = ask(path).is_problem()
            self.assertEqual((problem["status"], problem["code"]), (404, "not_found"))
            self.assertIn(part, problem["detail"])

    def test_faults_are_named(self):
        for query, names in (("from=yesterday&to=2026-13-01&step=hours&limit=0&x=1",
                              {"from", "to", "step", "limit", "x"}),
                             ("from=2026-02-02&to=2026-02-02", {"to"}), ("cursor=abc", {"cursor"}),
                             ("format=xml", {"format"})):
            problem = ask(PRICES % self.OFFER + "?" + query).is_problem()
            self.assertEqual((problem["status"], {e["parameter"] for e in problem["errors"]}), (400, names))
        lenient = ask(PRICES % self.OFFER + "?x=1", Prefer="handling=lenient")
        self.assertEqual([w["code"] for w in json.loads(lenient.body)["warnings"]], ["unknown_parameter"])

    def test_times_may_have_an_offset_and_be_dates(self):
        day = today - timedelta(days=1)
        wanted = load(ask(PRICES % self.OFFER + "?from=" + text_of(day)))["items"]
        self.assertTrue(wanted)
        shifted = (day + timedelta(hours=5, minutes=30)).strftime("%Y-%m-%dT%H:%M:%S")
        for text in (day.strftime("%Y-%m-%d"), shifted + "%2B05:30", shifted + "+05:30"):
            self.assertEqual(load(ask(PRICES % self.OFFER + "?from=" + text))["items"], wanted, text)

    def test_a_cursor_ends_where_a_roll_up_has_passed_it(self):
        since = json.loads(ask(PRICES % self.OFFER).body)["complete_since"]
        first = json.loads(ask(PRICES % self.OFFER + "?limit=5&from=" + since).body)
        path = PRICES % self.OFFER + first["next"]
        self.assertEqual(ask(path).status, 200)
        self.assertEqual(ask(path.replace("limit=5", "limit=6")).status, 200)
        self.assertEqual(ask(path.replace("%016x" % self.OFFER, "%016x" % 0x77)).status, 400)
        late = json.loads(ask(PRICES % self.OFFER + "?limit=5&from=" + text_of(today)).body)["next"]
        edge = sql("select changes_from from history")
        try:
            sql("update history set changes_from = changes_from + interval '1 day'")
            self.assertEqual(ask(path).is_problem()["code"], "cursor_expired")
            self.assertEqual(ask(PRICES % self.OFFER + late).status, 200)
        finally:
            sql("update history set changes_from = '%s'" % edge)
        epoch = sql("select epoch from clock")
        try:
            sql("update clock set epoch = gen_random_uuid()")
            self.assertEqual(ask(path).status, 410)
        finally:
            sql("update clock set epoch = '%s'" % epoch)


class Contract(unittest.TestCase):
    def test_answers_are_as_documented(self):
        openapi_check.read_contract()
        _, path, documented = openapi_check.operations["getPriceHistory"]
        url = "http://" + server.addresses["api"] + path.replace("{id}", "%016x" % Month.OFFERS[0])
        for parameter in map(openapi_check.resolve, documented["parameters"]):
            for value in parameter["schema"].get("enum", [parameter.get("example")]):
                answer = requests.get(url, {parameter["name"]: value} if parameter["in"] == "query" else {},
                                      timeout=20 * SLOW)
                self.assertEqual(answer.status_code, 200, answer.text)
                openapi_check.Answers().check("getPriceHistory", answer)
        tag = {"If-None-Match": requests.get(url, timeout=20 * SLOW).headers["ETag"]}
        openapi_check.Answers().check("getPriceHistory", requests.get(url, headers=tag, timeout=20 * SLOW))
        self.assertEqual(
            {p["name"] for p in map(openapi_check.resolve, documented["parameters"]) if p["in"] == "query"},
            {"from", "to", "step", "limit", "cursor", "format"})


class Worker(unittest.TestCase):
    """What the worker writes, in the order in which it happened."""

    def test_rounds_of_a_price_list(self):
        price_list_rounds.run(os.environ["GPUPICK_DATABASE_URL"])
        offer = int(sql("select to_hex(id) from offer where instance_type = 'rack-1'"), 16)
        page = load(ask(PRICES % offer))
        wanted, before = [], None
        for row, event in price_list_rounds.ROUNDS:
            price, availability, quantity = (row or before).split(",")
            before = row
            if event:
                exact = str(Decimal(price).normalize())
                wanted.append((event, "1", exact, exact, exact, exact, availability or "unknown", quantity or None))
        self.assertEqual([tuple(v for k, v in i.items() if k not in ("at", "step")) for i in page["items"]], wanted)
        times = [i["at"] for i in page["items"]]
        self.assertEqual(times, sorted(times))
        self.assertIsNone(page["offer"]["withdrawn_at"])


if __name__ == "__main__":
    unittest.main()
