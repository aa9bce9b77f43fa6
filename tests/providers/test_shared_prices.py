#!/usr/bin/python3
"""The fixtures of ../shared, from a provider's door to `GET /v1/prices`: worker, PostgreSQL, service.

Each figure was worked out by hand from the fixture; its remark says how where it is not plain.
"""
import contextlib
import csv
import glob
import http.client
import inspect
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import replay  # noqa: E402
import test_faults  # noqa: E402
from test_worker import BINARY, setUpModule, tearDownModule  # noqa: E402,F401

# (provider, path) -> file; None = no row. Those of replay.PROVIDERS are in replay.py.
FILES = [
    ('aws', r'offers/.*/region_index\.json', None),
    ('aws', r'offers/.*/index\.csv', 'aws-ec2-offers-index-constructed.csv'),
    ('aws', r'.*DescribeSpotPriceHistory.*', 'aws-describe-spot-price-history.json'),
    ('aws', r'spot-advisor-data\.json', 'aws-spot-advisor-data.json'),
    ('gcp', r'.*pageToken=.*', None), ('gcp', r'.*', 'gcp-billing-skus-gpu-constructed.json'),
    ('oci', r'.*/products/.*', 'oci-cetools-products.json'),
    ('runpod', r'v2/catalog/gpus\?.*', 'runpod-rest-v2-catalog-gpus.json'),
    ('verda', r'v1/instance-types.*', 'verda-instance-types.json'),
    ('verda', r'v1/instance-availability\?is_spot=false', 'verda-instance-availability.json'),
    ('verda', r'v1/long-term/periods/instances', 'verda-long-term-periods.json'),
    ('scaleway', r'.*/fr-par-1/products/servers\?per_page=100&page=1', 'scaleway-products-servers-fr-par-1.json'),
    ('scaleway', r'.*/fr-par-1/products/servers/availability.*', 'scaleway-products-availability-fr-par-1.json'),
    ('scaleway', r'.*', None),
    ('ovhcloud', r'.*', 'ovhcloud-order-catalog-public-cloud.json'),
    ('cloudrift', r'.*', 'cloudrift-instance-types-list-constructed.json'),
    ('thunder', r'(v2/pricing|v2/status)', 'thunder-compute-pricing.json'),
    ('vast', r'.*', 'vast-bundles-constructed.json'),
    # The example of paging first, whose next page are the sizes with GPUs.
    ('digitalocean', r'v2/sizes\?per_page=200', 'digitalocean-sizes-pagination.json'),
    ('digitalocean', r'v2/sizes\?page=2&per_page=1', 'digitalocean-sizes.json'),
    ('hyperstack', r'pricebook', 'hyperstack-pricebook.json'),
    ('hyperstack', r'core/stocks', 'hyperstack-core-stocks.json'),
    ('tensordock', r'.*', 'tensordock-v2-locations.json'), ('cudo', r'.*', 'cudo-machine-types.json'),
    ('hotaisle', r'.*', 'hotaisle-available-constructed.json'), ('jarvislabs', r'.*', 'jarvislabs-server-meta.json'),
    ('seeweb', r'.*', 'seeweb-plans.json'), ('shadeform', r'.*', 'shadeform-instances-types.json'),
    ('primeintellect', r'.*page=[^1].*', None), ('primeintellect', r'.*', 'primeintellect-availability-response.json'),
]
EMPTY = {
    'aws': {'regions': {'us-east-1': {'regionCode': 'us-east-1', 'currentVersionUrl':
                                      '/offers/v1.0/aws/AmazonEC2/20260720000000/us-east-1/index.json'}}},
    'gcp': {'skus': []}, 'primeintellect': {'items': [], 'totalCount': 608}, 'scaleway': {'servers': {}},
}
NEBIUS_FILE = 'nebius-estimate-constructed.json'  # answered by a gRPC server, where there is one
EURO = 1.14  # USD, as ecb-eur-usd.csv has it

# Files that become no row of the live table, and why. Those that another test takes are named with it.
NO_ROWS = {
    'ecb-eur-usd.csv': 'the rate itself, taken below: with another day, since its own is past the week it may serve',
    'oci-shapes-cpu.json': 'machines without accelerators: taken below, no row and no failure',
    'runpod-graphql-cpuflavors.json': 'machines without accelerators; the feed does not ask for them',
    'vast-429-body.json': 'a refusal, taken below',
    'verda-instance-types-eur.json': 'euros where dollars were asked for: taken below, each row refused',
    'verda-cluster-types.json': 'clusters of several machines at one price: none is an instance of ours',
    'verda-container-types.json': 'serverless containers: billed by use, not by the hour of a machine',
    'verda-locations.json': 'places without prices; their countries are in core/data/countries.inc, held to it below',
    'scaleway-public-catalog-products.json': 'the prices of products/servers told a minute: held to them below',
    'digitalocean-dedicated-inference-sizes.json': 'a managed service on the same machines: no instance to rent',
    'primeintellect-availability-disks.json': 'disks by the GB-hour',
    'tensordock-v0-hostnode-specs.json': 'the API that v2/locations replaced',
    'tensordock-v2-hostnodes.json': 'GPUs by host without the prices of CPU and RAM, which v2/locations has',
    'aws-describe-instance-types-gpuinfo.json': 'facts of machines, no prices',
    'crusoe-types-and-capacities-constructed.json': 'no price in any answer of the provider',
    'paperspace-machine-availability-constructed.json': 'no price in any answer of the provider',
    **dict.fromkeys((
        'akash-gpu-prices.json', 'clore-marketplace.json', 'cloudgpuprices-offerings.json',
        'fluidstack-list-available-configurations-constructed.json', 'getdeploying-gpu-offerings.json',
        'gpus-io-prices.json', 'gridstackhub-prices.json', 'hyperbolic-skypilot-catalog-constructed.json',
        'inference-sh-instances-types.json', 'lium-executors.json', 'mithril-constructed.json',
        'sesterce-offers.json', 'spheron-gpu-offers.json'), 'no feed of this provider is asked for'),
}

# provider, instance type, region, GPUs, kind, months: USD an hour, accelerator
PRICES = [
    ('aws', 'p5.48xlarge', 'us-east-1', 8, 'on_demand', None, 55.04, 'H100 SXM5 80GB'),
    ('aws', 'p5.48xlarge', 'us-east-1', 8, 'reserved', 12, {38.53, 37.442922}, 'H100 SXM5 80GB'),  # 328000 / 8760
    ('aws', 'g6f.large', 'us-east-1', 0.125, 'on_demand', None, 0.202, 'L4 24GB'),
    ('aws', 'p6-b300.48xlarge', 'us-east-1', 8, 'spot', None, 39.6519, 'B300 SXM 288GB'),
    ('aws', 'g6e.xlarge', 'us-east-1', 1, 'spot', None, 0.7816, 'L40S 48GB'),  # not Windows' 0.9656
    ('gcp', 'a4-highgpu-8g', 'us-central1', 8, 'spot', None, 64.48, 'B200 SXM 180GB'),  # 8 slices of 8.06
    ('azure', 'Standard_ND96isr_H100_v5', 'eastus', 8, 'on_demand', None, 98.32, 'H100 SXM5 80GB'),
    ('azure', 'Standard_ND96isr_H100_v5', 'eastus', 8, 'reserved', 12, {62.926598, 67.8408}, 'H100 SXM5 80GB'),
    ('azure', 'Standard_NC40ads_H100_v5', 'eastus', 1, 'on_demand', None, 6.98, 'H100 NVL 94GB'),
    ('azure', 'Standard_NV6ads_A10_v5', 'eastus', 0.167, 'on_demand', None, 0.454, 'A10 24GB'),
    ('oci', 'BM.GPU.H100.8', None, 8, 'on_demand', None, 8 * 10, 'H100 SXM5 80GB'),
    ('oci', 'BM.GPU.GB300.4', None, 4, 'on_demand', None, 4 * 18, 'GB300 (per GPU) 288GB'),
    # a pod of GPUs; where it is when the data centre is told
    ('runpod', 'NVIDIA GeForce RTX 4090', 'US-KS-2', 8, 'on_demand', None, 8 * 0.44, 'RTX 4090 24GB'),
    ('runpod', 'NVIDIA GeForce RTX 4090', None, 4, 'on_demand', None, 4 * 0.31, 'RTX 4090 24GB'),
    ('vultr', 'vcg-a100-6c-60g-40vram', 'ewr', 0.5, 'on_demand', None, 1.397, 'A100 PCIe 80GB'),
    ('vultr', 'vbm-112c-2048gb-8-h100-gpu', 'sea', 8, 'on_demand', None, 23.92, 'H100 SXM5 80GB'),
    ('linode', 'g1-gpu-rtx6000-4', 'us-lax', 4, 'on_demand', None, 6, 'Quadro RTX 6000 24GB'),
    ('lambda', 'gpu_8x_h100_sxm5gdr', 'us-west-1', 8, 'on_demand', None, 35.92, 'H100 SXM5 80GB'),  # 3592 cents
    ('scaleway', 'L4-8-24G', 'fr-par', 8, 'on_demand', None, 6.30 * EURO, 'L4 24GB'),
    ('scaleway', 'RENDER-S', 'fr-par', 1, 'on_demand', None, 1.221 * EURO, 'P100 PCIe 16GB'),
    ('ovhcloud', 'h100-380', None, 1, 'on_demand', None, 2.80 * EURO, 'H100 PCIe 80GB'),  # 280000000 of 1e-8
    ('cloudrift', 'rtx49-7-50-500-nr.4', 'us-east-nc-nr-1', 4, 'on_demand', None, 1.56, 'RTX 4090 24GB'),  # cents
    ('verda', '1H100.80S.30V', None, 1, 'on_demand', None, 3.95, 'H100 SXM5 80GB'),
    ('verda', '1H100.80S.30V', None, 1, 'spot', None, 1.70, 'H100 SXM5 80GB'),
    ('verda', '1V100.6V', 'FIN-01', 1, 'on_demand', None, 0.89, 'V100 SXM2 16GB'),
    ('verda', '1H100.80S.30V', None, 1, 'reserved', 3, 3.95 * 0.86, 'H100 SXM5 80GB'),
    ('verda', '1H100.80S.30V', None, 1, 'reserved', 6, 3.95 * 0.80, 'H100 SXM5 80GB'),
    ('thunder', 'h100_x1', None, 1, 'on_demand', None, 2.19, 'H100 PCIe 80GB'),
    # an offer is all of its GPUs, and its disk is priced apart
    ('vast', 'machine-22222-8x', 'US', 8, 'on_demand', None, 17.613889, 'H100 SXM5 80GB'),
    ('vast', 'machine-33333-1x', None, 1, 'on_demand', None, 0.518587, 'RTX 4090 48GB'),
    ('digitalocean', 'gpu-h100x8-640gb', 'nyc1', 8, 'on_demand', None, 23.92, 'H100 SXM5 80GB'),
    ('digitalocean', 'gpu-mi300x8-1536gb', 'nyc1', 8, 'on_demand', None, 15.92, 'MI300X 192GB'),
    ('hyperstack', 'n3-H100x8', 'CANADA-1', 8, 'on_demand', None, 8 * 1.90, 'H100 PCIe 80GB'),
    ('hyperstack', 'n3-H100x1-spot', 'CANADA-1', 1, 'spot', None, 1.52, 'H100 PCIe 80GB'),
    # components for a machine with 8 vCPUs and 32 GB of RAM a GPU, and 100 GB of disk
    ('tensordock', 'h100-sxm5-80gb', 'Chicago, Illinois', 8, 'on_demand', None,
     8 * (2.2 + 8 * 0.003 + 32 * 0.002) + 100 * 0.00005, 'H100 SXM5 80GB'),
    ('cudo', 'cascade-lake', 'br-saopaulo-1', 1, 'on_demand', None,
     0.05 + 8 * 0.0025 + 32 * 0.0038 + 100 * 0.00013 + 0.0055, 'RTX 3080 10GB'),
    ('hotaisle', '1x-MI300X-13c', None, 1, 'on_demand', None, 1.99, 'MI300X 192GB'),  # cents
    ('jarvislabs', 'A100-80GB', 'india-noida-01', 4, 'on_demand', None, 4 * 1.49, 'A100 SXM4 80GB'),
    ('seeweb', 'ECS2GPU3', 'it-fr2', 2, 'on_demand', None, 1.98 * EURO, 'A100 PCIe 80GB'),
    ('shadeform', 'H100_PCIE_80GB_x8', 'MON1', 8, 'on_demand', None, 32.80, 'H100 PCIe 80GB'),  # cents
    ('primeintellect', 'NVIDIA H100 PCIe', 'CA-MTL-3', 1, 'on_demand', None, 2.4068, 'H100 PCIe 80GB'),
]

if test_faults.nebius_api:
    PRICES += [('nebius', 'gpu-h100-sxm_8gpu-128vcpu-1600gb', 'eu-north1', 8, kind, None, 23.6, 'H100 SXM5 80GB')
               for kind in ('on_demand', 'spot')]

# The same without a key.
PUBLIC = [
    ('runpod', 'NVIDIA H100 80GB HBM3', None, 8, 'on_demand', None, 8 * 2.69, 'H100 SXM5 80GB'),
    ('runpod', 'NVIDIA H100 80GB HBM3', None, 8, 'spot', None, 8 * 1.75, 'H100 SXM5 80GB'),
    ('runpod', 'NVIDIA B200', None, 8, 'on_demand', None, 8 * 5.98, 'B200 SXM 180GB'),
]


# Whose regions facts/providers.csv lists one by one; and those of which neither it nor their name tells the country.
SPELLED = ('crusoe', 'digitalocean', 'hotaisle', 'hyperstack', 'ibm', 'lambda', 'nebius', 'ovhcloud', 'paperspace',
           'seeweb', 'verda')
UNPLACED = {('nebius', 'eu-north2'), ('nebius', 'me-west1'), ('lambda', 'europe-south-1'), ('ovhcloud', 'FRA')}
FACTS = os.path.join(replay.SHARED, '..', '..', 'facts')
PRICES_OF_SHARED = os.path.join(replay.SHARED, '..', 'prices')


def spelled_out(text):
    """us-east-1..3, asia-northeast-1/2"""
    match = re.fullmatch(r'(.*-)(\d)(?:\.\.|/)(\d)', text)
    return [match[1] + str(number) for number in range(int(match[2]), int(match[3]) + 1)] if match else [text]


def shared(name):
    with open(os.path.join(replay.SHARED, name), 'rb') as file:
        return file.read()


def history(text):
    """The XML that EC2 answers with, of the same rows as `aws ec2 describe-spot-price-history` prints."""
    rows = ''.join('<item>' + ''.join(f'<{name[0].lower()}{name[1:]}>{value}</{name[0].lower()}{name[1:]}>'
                                      for name, value in row.items()) + '</item>'
                   for row in json.loads(text)['SpotPriceHistory'])
    name = 'DescribeSpotPriceHistoryResponse'
    return f'<{name}><spotPriceHistorySet>{rows}</spotPriceHistorySet><nextToken/></{name}>'.encode()


class Handler(test_faults.Handler):
    def find(self, provider, path, body):
        if self.server.refused:
            return *self.server.refused, None
        for name, pattern, file in FILES:
            match = re.fullmatch(pattern, path)
            if name != provider or not match:
                continue
            if not file:
                return 200, json.dumps(EMPTY[name]).encode(), None
            data = shared(file)
            if match.groups():
                data = json.dumps(json.loads(data)['_' + match[1]]).encode()
            if 'history' in file:
                data = history(data if '/us-east-1/' in self.headers['Authorization'] else b'{"SpotPriceHistory":[]}')
            return 200, data, None
        return super().find(provider, path, body)


@unittest.skipUnless(replay.has_shared(), 'no ../shared/fixtures/providers beside this checkout')
class Shared(test_faults.Everything):
    handler, fixtures, page_size = Handler, 'shared', 3

    def get(self, address, path):
        with contextlib.closing(http.client.HTTPConnection(address, timeout=20)) as connection:
            connection.request('GET', path)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())

    def serve(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        log = open(os.path.join(folder.name, 'log'), 'w+', encoding='utf-8')
        self.addCleanup(log.close)
        self.children.append(subprocess.Popen([BINARY, 'serve'], stdout=subprocess.DEVNULL, stderr=log, env={
            **self.environment, 'GPUPICK_LISTEN': '127.0.0.1:0', 'GPUPICK_OPS_LISTEN': '127.0.0.1:0',
            'GPUPICK_DATA': folder.name}))  # no snapshot of another test's
        found = []

        def is_up():
            with open(log.name, encoding='utf-8') as lines:
                found[:] = re.findall(r'"address":"([^"]*)"[^\n]*"port":"api"|"port":"api"[^\n]*"address":"([^"]*)"',
                                      lines.read())
            return found and self.get(''.join(found[0]), '/v1/prices?limit=1')[0] == 200
        self.until(is_up, 20, 'prices are answered')
        return ''.join(found[0])

    def account(self):
        return test_faults.nebius_api.of_fixture(json.loads(shared(NEBIUS_FILE)))

    def setUp(self):
        super().setUp()
        self.server.refused, self.rate = None, shared('ecb-eur-usd.csv').decode()
        day = self.value("select to_char(now() - interval '1 day', 'YYYY-MM-DD')")
        self.server.rate = re.sub(r'\d{4}-\d\d-\d\d', day, self.rate)  # its own day is long ago
        # RunPod's list for everybody comes from replay.py, not from FILES.
        self.environment['GPUPICK_RUNPOD_KEY'] = test_faults.test_feeds_worker.KEY

    def offers(self):
        address = self.serve()
        path, offers = '/v1/prices?limit=100', []
        while path:
            status, page = self.get(address, path)
            self.assertEqual(status, 200)
            offers += page['items']
            path = page['next'] and urllib.parse.urljoin(path, page['next'])
        return offers

    def check(self, prices, offers):
        for *key, usd, accelerator in prices:
            with self.subTest(key):
                found = [offer for offer in offers if key == [offer[name] for name in (
                    'provider', 'instance_type', 'region', 'count', 'price_kind', 'term_months')]]
                self.assertEqual({offer['accelerator'] for offer in found}, {accelerator})
                wanted = usd if isinstance(usd, set) else {usd}
                self.assertEqual({offer['usd_per_hour'] for offer in found}, {round(each, 6) for each in wanted})
                for offer in found:
                    self.assertAlmostEqual(offer['usd_per_gpu_hour'] * key[3], offer['usd_per_hour'], delta=1e-5)

    def test_each_fixture_becomes_the_right_price(self):
        self.round(1.0, {})
        offers = self.offers()
        self.check(PRICES, offers)
        self.assertEqual({provider for provider, *_ in PRICES}, {offer['provider'] for offer in offers})
        self.assertEqual({name for name, _, file in FILES} - {key[0] for key in PRICES}, set())
        spot = {(offer['instance_type'], offer['region']): offer['interruption_band'] for offer in offers
                if offer['provider'] == 'aws' and offer['price_kind'] == 'spot'}
        advisor = json.loads(shared('aws-spot-advisor-data.json'))
        row = advisor['spot_advisor']['us-east-1']['Linux']['g6e.xlarge']
        self.assertEqual(spot['g6e.xlarge', 'us-east-1'], advisor['ranges'][row['r']]['label'])
        # Its other list tells some of the same prices a minute.
        hourly = {offer['instance_type']: offer['usd_per_hour'] for offer in offers if offer['provider'] == 'scaleway'}
        told = [(product['product'], product['price']['retail_price'], product['unit_of_measure']['unit'])
                for product in json.loads(shared('scaleway-public-catalog-products.json'))['products']
                if product['product'] in hourly]
        self.assertEqual({unit for *_, unit in told}, {'minute', 'hour'})
        for name, price, unit in told:
            euros = (price['units'] + price['nanos'] / 1e9) * (60 if unit == 'minute' else 1)
            self.assertAlmostEqual(hourly[name], euros * EURO, delta=1e-5)

    def test_runpods_list_for_everybody_becomes_the_right_prices(self):
        del self.environment['GPUPICK_RUNPOD_KEY']
        self.environment['GPUPICK_PROVIDERS'] = 'runpod'
        self.round(1.0, {})
        self.check(PUBLIC, self.offers())

    def test_a_refusal_is_told_as_one_and_costs_no_price(self):
        self.environment['GPUPICK_PROVIDERS'] = 'vast'
        _, before, _ = self.round(1.0, {})
        refusal = json.loads(shared('vast-429-body.json'))
        self.server.refused = refusal['_status'], refusal['body'].encode()
        runs, now, _ = self.round(1.0, {}, status=1)
        self.assertEqual(runs['vast-search'][0], 'rate_limited', runs)
        self.assertEqual(now, before)

    def test_a_rate_of_long_ago_is_none(self):
        self.server.rate = self.rate
        self.environment['GPUPICK_PROVIDERS'] = 'scaleway'
        runs, rows, _ = self.round(1.0, {}, status=1)
        self.assertIn(re.search(r'\d{4}-\d\d-\d\d', self.rate)[0], runs['scaleway-api'][1])
        self.assertEqual(rows, {})

    def parse(self, provider, file, *options):
        done = self.run_program('parse', provider, *options, os.path.join(replay.SHARED, file), check=None)
        return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr

    def test_what_has_no_price_of_ours_becomes_none(self):
        status, rows, told = self.parse('verda', 'verda-instance-types-eur.json')
        count = len(json.loads(shared('verda-instance-types-eur.json')))
        self.assertEqual((status, rows), (0, []), told)
        self.assertIn(f'{count} refused: schema', told)
        self.assertIn('priced in "eur"', told)
        status, rows, told = self.parse('oci', 'oci-shapes-cpu.json', '--page', 'shapes')
        self.assertEqual((status, rows), (0, []), told)
        self.assertIn('0 rows seen', told)
        with open(os.path.join(HERE, '..', '..', 'core', 'data', 'countries.inc'), encoding='utf-8') as file:
            countries = dict(re.findall(r'\{"verda", "([^"]+)", "([A-Z]{2})"\}', file.read()))
        places = {place['code']: place['country_code'] for place in json.loads(shared('verda-locations.json'))}
        self.assertEqual({place: countries.get(place) for place in places}, places)

    def test_regions_that_the_facts_spell_have_a_country_or_are_known_to_have_none(self):
        spelled = set()
        with open(os.path.join(FACTS, 'providers.csv'), encoding='utf-8') as file:
            for row in csv.DictReader(file):
                if row['provider'] in SPELLED:
                    spelled |= {(row['provider'], name) for text in row['regions'].split(' (')[0].split(',')
                                for name in spelled_out(text)}
        for path in glob.glob(os.path.join(PRICES_OF_SHARED, 'skypilot-*.csv')):
            provider = re.search(r'skypilot-v\d-([a-z]+)', path)[1]
            with open(path, encoding='utf-8') as file:
                spelled |= {(provider, row.get('Region') or row['region']) for row in csv.DictReader(file)}
        with open(os.path.join(HERE, '..', '..', 'core', 'data', 'countries.inc'), encoding='utf-8') as file:
            known = {(provider, region) for provider, region in re.findall(r'\{"([^"]+)", "([^"]+)", "', file.read())}
        unplaced = {pair for pair in spelled - known if pair[0] != 'vast'}  # which names it itself: test_country.c
        self.assertEqual(unplaced, UNPLACED)
        self.assertGreater(len(spelled), 200)

    def test_no_file_is_forgotten(self):
        there = {os.path.basename(path) for ending in ('json', 'csv')
                 for path in glob.glob(os.path.join(replay.SHARED, '*.' + ending))}
        read = {NEBIUS_FILE} | {file for _, _, file in FILES if file} | set(re.findall(
            r"SHARED, '([^']+)'", inspect.getsource(replay.load_shared)))
        self.assertEqual(read | set(NO_ROWS), there)
        self.assertEqual(read & set(NO_ROWS), set())


if __name__ == '__main__':
    unittest.main(verbosity=2)
