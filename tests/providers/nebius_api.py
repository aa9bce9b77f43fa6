#!/usr/bin/python3
"""Nebius's gRPC interface as far as the feed asks it, on the real library: server, messages, fixtures.

The messages are those of github.com/nebius/api (2026-08-19), only with the fields that are used. Run as a
program it writes fixtures/nebius/*.pb anew, the answers that the C tests and the fuzzer's seeds read.
"""
import base64
import concurrent.futures
import decimal
import json
import os
import subprocess
import sys
import tempfile

import grpc
from google.protobuf import any_pb2, descriptor_pb2, descriptor_pool, json_format, message_factory

FIXTURES = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'fixtures', 'nebius')
ANY, TOKEN, AUDIENCE = '.google.protobuf.Any', 'replay-token', 'token-service.iam.new.nebiuscloud.net'

# message -> field -> (number, type); "*" is a list, ":20" a member of a oneof
MESSAGES = {
    'Metadata': {'id': (1, 'string'), 'parent_id': (2, 'string'), 'name': (3, 'string')},
    'Tenants': {'items': (1, '*Container'), 'next_page_token': (2, 'string')},
    'Projects': {'items': (1, '*Container'), 'next_page_token': (2, 'string')},
    'Container': {'metadata': (1, 'Metadata'), 'spec': (2, 'ContainerSpec'), 'status': (3, 'ContainerStatus')},
    'ContainerSpec': {'region': (1, 'string')},
    'ContainerStatus': {'suspension_state': (2, 'int32'), 'region': (4, 'string')},
    'ListTenants': {'page_size': (1, 'int64'), 'page_token': (2, 'string')},
    'ListProjects': {'parent_id': (1, 'string'), 'page_size': (2, 'int64'), 'page_token': (3, 'string')},
    'ListPlatforms': {'page_size': (1, 'int64'), 'page_token': (2, 'string'), 'parent_id': (3, 'string')},
    'Platforms': {'items': (1, '*Platform'), 'next_page_token': (2, 'string')},
    'Platform': {'metadata': (1, 'Metadata'), 'spec': (2, 'PlatformSpec'), 'status': (3, 'PlatformStatus')},
    'PlatformSpec': {'presets': (1, '*Preset'), 'gpu_count_quota_type': (3, 'string'),
                     'human_readable_name': (4, 'string'), 'gpu_memory_gibibytes': (11, 'int32'),
                     'gpu_memory_gigabytes': (12, 'int32')},
    'PlatformStatus': {'allowed_for_preemptibles': (3, 'bool')},
    'Preset': {'name': (1, 'string'), 'resources': (2, 'Resources'), 'allow_gpu_clustering': (3, 'bool')},
    'Resources': {'vcpu_count': (1, 'int32'), 'memory_gibibytes': (3, 'int32'), 'gpu_count': (4, 'int32')},
    'CreateInstanceRequest': {'metadata': (1, 'Metadata'), 'spec': (2, 'InstanceSpec')},
    'InstanceSpec': {'resources': (2, 'ResourcesSpec'), 'preemptible': (19, 'PreemptibleSpec')},
    'ResourcesSpec': {'platform': (1, 'string'), 'preset': (2, 'string')},
    'PreemptibleSpec': {'on_preemption': (1, 'int32')},
    'EstimateBatch': {'resource_specs': (1, '*ResourceSpec'), 'currency': (11, 'string'),
                      'filter_aggregation_unit': (20, 'Units')},
    'ResourceSpec': {'spec': (1, ANY)},
    'Units': {'filter_aggregation_unit_values': (1, '*int32')},
    'Estimates': {'resource_costs': (1, '*ResourceCost'), 'total_costs': (10, '*TotalCost'),
                  'currency': (20, 'string')},
    'ResourceCost': {'metadata': (1, 'Metadata'), 'aggregation_unit': (4, 'Unit'), 'general': (20, 'General')},
    'TotalCost': {'aggregation_unit': (1, 'Unit'), 'general': (20, 'General')},
    'Unit': {'unit': (1, 'string'), 'unit_type': (2, 'int32')},
    'General': {'total': (1, 'Breakdown')},
    'Breakdown': {'cost': (2, 'string'), 'cost_rounded': (3, 'string')},
    'ExchangeToken': {'grant_type': (1, 'string'), 'requested_token_type': (2, 'string'),
                      'subject_token': (3, 'string'), 'subject_token_type': (4, 'string')},
    'Token': {'access_token': (1, 'string'), 'issued_token_type': (2, 'string'), 'token_type': (3, 'string'),
              'expires_in': (4, 'int64')},
    'RpcStatus': {'code': (1, 'int32'), 'message': (2, 'string'), 'details': (3, '*' + ANY)},
    'RetryInfo': {'retry_delay': (1, 'Duration')},
    'Duration': {'seconds': (1, 'int64'), 'nanos': (2, 'int32')},
}
METHODS = {  # method -> (request, answer)
    'nebius.iam.v1.TokenExchangeService/Exchange': ('ExchangeToken', 'Token'),
    'nebius.iam.v1.TenantService/List': ('ListTenants', 'Tenants'),
    'nebius.iam.v1.ProjectService/List': ('ListProjects', 'Projects'),
    'nebius.compute.v1.PlatformService/List': ('ListPlatforms', 'Platforms'),
    'nebius.billing.v1.CalculatorService/EstimateBatch': ('EstimateBatch', 'Estimates'),
}


def build():
    file = descriptor_pb2.FileDescriptorProto(name='nebius.proto', package='t', syntax='proto3',
                                              dependency=['google/protobuf/any.proto'])
    kinds = descriptor_pb2.FieldDescriptorProto
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, (number, kind) in fields.items():
            row = message.field.add(name=field, number=number, label=kinds.LABEL_REPEATED if kind[0] == '*'
                                    else kinds.LABEL_OPTIONAL)
            kind = kind.lstrip('*')
            if kind in ('string', 'int32', 'int64', 'bool'):
                row.type = getattr(kinds, 'TYPE_' + kind.upper())
            else:
                row.type, row.type_name = kinds.TYPE_MESSAGE, kind if kind == ANY else '.t.' + kind
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(any_pb2.DESCRIPTOR.serialized_pb)
    pool.Add(file)
    factory = message_factory.MessageFactory(pool)
    return {name: factory.GetPrototype(pool.FindMessageTypeByName('t.' + name)) for name in MESSAGES}


CLASSES = build()


def message(name, value):
    """Of a dict in the names of the .proto files; what is not in MESSAGES is left out."""
    return json_format.ParseDict(value, CLASSES[name](), ignore_unknown_fields=True)


def estimate(cost, unit='hour', currency='usd'):
    # A month's total first, since the server may tell more than it was asked for.
    total = {'general': {'total': {'cost': cost, 'cost_rounded': cost[:5]}}}
    return {'currency': currency, 'total_costs': [
        {'aggregation_unit': {'unit': 'month', 'unit_type': 1}, 'general': {'total': {'cost': '99999.9'}}},
        {'aggregation_unit': {'unit': unit, 'unit_type': 1}, **total}]}


def retry_details(code, seconds, with_others=True):
    """google.rpc.Status with what else may stand there, and a RetryInfo."""
    def detail(name, value):
        return {'type_url': 'type.googleapis.com/' + name, 'value': value}

    info = message('RetryInfo', {'retry_delay': {'seconds': int(seconds), 'nanos': round(seconds % 1 * 1e9)}})
    status = CLASSES['RpcStatus'](code=code.value[0])
    if with_others:
        status.details.add(**detail('nebius.common.v1.ServiceError', b'\x0a\x01x'))
    status.details.add(**detail('google.rpc.RetryInfo', info.SerializeToString()))
    return status.SerializeToString()


def other_schema(data):
    """A message whose provider gave every field another number."""
    field = any_pb2.Any(value=data).SerializeToString()  # one field, 2
    return b'\x9a\x06' + field[1:] if data else b''


class Account:
    """What a tenant sees: projects by region, platforms by region, prices by (platform, preset, is spot)."""

    def __init__(self, projects, platforms, prices, page_size=2):
        self.projects, self.platforms, self.prices, self.page_size = projects, platforms, prices, page_size
        self.tenants = [{'metadata': {'id': 'tenant-1', 'name': 'us'}}]
        self.factor = 1  # of all prices
        self.is_loop, self.is_endless = False, False  # the second page of a list names itself, or ever another one
        self.public_key = None  # PEM: tokens are given for claims that it verifies

    def page(self, items, asked):
        start = int(asked.page_token or 0)
        if self.is_loop or self.is_endless:
            return {'items': items[:self.page_size], 'next_page_token': str(start + 2 if self.is_endless else 2)}
        end = start + min(self.page_size, asked.page_size)
        return {'items': items[start:end], **({'next_page_token': str(end)} if end < len(items) else {})}

    def answer(self, method, asked):
        """A dict, or a grpc.StatusCode."""
        name = method.rsplit('.', 1)[-1]
        if name == 'TokenExchangeService/Exchange':
            if not (self.public_key and self.is_signed(asked.subject_token)):
                return grpc.StatusCode.UNAUTHENTICATED
            return {'access_token': TOKEN, 'token_type': 'Bearer', 'expires_in': 43200}
        if name == 'TenantService/List':
            return {'items': self.tenants}
        if name == 'ProjectService/List':
            return self.page(self.projects if asked.parent_id == 'tenant-1' else [], asked)
        if name == 'PlatformService/List':
            region = {project['metadata']['id']: (project.get('status') or project['spec'])['region']
                      for project in self.projects}.get(asked.parent_id)
            return grpc.StatusCode.NOT_FOUND if region is None else self.page(self.platforms[region], asked)
        return self.estimated(asked)

    def estimated(self, asked):
        instance = CLASSES['CreateInstanceRequest']()
        specs, units = asked.resource_specs, list(asked.filter_aggregation_unit.filter_aggregation_unit_values)
        url = 'type.googleapis.com/nebius.compute.v1.CreateInstanceRequest'
        if len(specs) != 1 or specs[0].spec.type_url != url or units != [2] or asked.currency != 'usd':
            return grpc.StatusCode.INVALID_ARGUMENT
        instance.ParseFromString(specs[0].spec.value)
        is_spot = instance.spec.HasField('preemptible')
        if is_spot and instance.spec.preemptible.on_preemption != 1:
            return grpc.StatusCode.INVALID_ARGUMENT
        if instance.metadata.parent_id not in [project['metadata']['id'] for project in self.projects]:
            return grpc.StatusCode.NOT_FOUND
        cost = self.prices.get((instance.spec.resources.platform, instance.spec.resources.preset, is_spot))
        if cost is None:
            return grpc.StatusCode.INVALID_ARGUMENT
        if isinstance(cost, (dict, grpc.StatusCode)):
            return cost
        return estimate(str(decimal.Decimal(cost) * decimal.Decimal(str(self.factor))))

    def is_signed(self, claim):
        """RS256, by openssl: whose key it is, and that it is for this service and of now."""
        head, body, signature = claim.split('.')
        header, claims = (json.loads(base64.urlsafe_b64decode(part + '==')) for part in (head, body))
        with tempfile.TemporaryDirectory() as folder:
            for name, data in (('key', self.public_key), ('text', f'{head}.{body}'.encode()),
                               ('signature', base64.urlsafe_b64decode(signature + '=='))):
                with open(os.path.join(folder, name), 'wb') as file:
                    file.write(data)
            done = subprocess.run(['openssl', 'dgst', '-sha256', '-verify', 'key', '-signature', 'signature', 'text'],
                                  cwd=folder, capture_output=True)
        return (done.returncode == 0 and header == {'alg': 'RS256', 'typ': 'JWT', 'kid': 'publickey-1'} and
                claims['iss'] == claims['sub'] == 'serviceaccount-1' and claims['aud'] == [AUDIENCE] and
                claims['exp'] - claims['iat'] == 60)


class Server:
    """On a free port of 127.0.0.1, without TLS; calls are kept in `seen`. `fault(method)` may answer instead:
    a grpc.StatusCode, alone or with the seconds after which to ask again, or bytes for a message. `change(bytes)` may
    make others of the bytes of an answer."""

    def __init__(self, account):
        self.account, self.seen = account, []
        self.fault, self.change = lambda method: None, lambda data: data
        self.grpc = grpc.server(concurrent.futures.ThreadPoolExecutor(4))
        self.grpc.add_generic_rpc_handlers((self,))
        self.port = self.grpc.add_insecure_port('127.0.0.1:0')
        self.url = f'http://127.0.0.1:{self.port}'

    def __enter__(self):
        self.grpc.start()
        return self

    def __exit__(self, *_):
        self.grpc.stop(None)

    def service(self, details):
        method = details.method.lstrip('/')
        if method not in METHODS:
            return None
        asked = CLASSES[METHODS[method][0]]
        return grpc.unary_unary_rpc_method_handler(
            lambda request, context: self.call(method, request, context),
            request_deserializer=asked.FromString, response_serializer=None)

    def call(self, method, request, context):
        self.seen.append((method, request))
        answer = self.fault(method)
        if answer is None:
            headers = dict(context.invocation_metadata())
            is_known = headers.get('authorization') == 'Bearer ' + TOKEN or method.endswith('/Exchange')
            answer = self.account.answer(method, request) if is_known else grpc.StatusCode.UNAUTHENTICATED
        if isinstance(answer, tuple):
            answer, seconds = answer
            context.set_trailing_metadata((('grpc-status-details-bin', retry_details(answer, seconds)),))
        if isinstance(answer, grpc.StatusCode):
            context.abort(answer, 'as the test asked')
        if isinstance(answer, bytes):
            return answer
        return self.change(message(METHODS[method][1], answer).SerializeToString())


def platform(name, memory_gb, is_preemptible, *presets):
    """Presets as (GPUs, vCPUs, GiB)."""
    return {'metadata': {'name': name}, **({'status': {'allowed_for_preemptibles': True}} if is_preemptible else {}),
            'spec': {'gpu_memory_gigabytes': memory_gb, 'presets': [
                {'name': f'{gpus}gpu-{vcpus}vcpu-{gib}gb' if gpus else f'{vcpus}vcpu-{gib}gb',
                 'resources': {'vcpu_count': vcpus, 'memory_gibibytes': gib, 'gpu_count': gpus}}
                for gpus, vcpus, gib in presets]}}


def of_fixture(fixture):
    """The account of an estimate as it was recorded, with the platform that it is of."""
    platform, cost = fixture['_platform'], fixture['hourly_cost']['general']['total']['cost']
    preset = platform['spec']['presets'][0]['name']
    return Account([{'metadata': {'id': 'project-a'}, 'status': {'region': 'eu-north1'}}], {'eu-north1': [platform]},
                   {(platform['metadata']['name'], preset, is_spot): cost for is_spot in (False, True)})


def committed():
    """The account of the fixtures, with a trap in each row."""
    h100 = platform('gpu-h100-sxm', 80, True, (1, 16, 200), (8, 128, 1600))
    return Account(
        [{'metadata': {'id': 'project-a'}, 'status': {'region': 'eu-north1'}},
         {'metadata': {'id': 'project-b'}, 'status': {'region': 'eu-north1'}},  # a region is asked once
         {'metadata': {'id': 'project-c'}, 'spec': {'region': 'us-central1'}}],
        {'eu-north1': [h100, platform('cpu-e2', 0, False, (0, 2, 8)), platform('gpu-x900-pcie', 0, False, (2, 8, 64))],
         'us-central1': [platform('gpu-b200-sxm', 180, False, (8, 160, 1792))]},
        {('gpu-h100-sxm', '1gpu-16vcpu-200gb', False): '2.950000000000000000',
         ('gpu-h100-sxm', '8gpu-128vcpu-1600gb', False): '23.600000000000000000',
         ('gpu-h100-sxm', '8gpu-128vcpu-1600gb', True): '10.000000000000000000',
         # not sold so to this account: ('gpu-h100-sxm', '1gpu-16vcpu-200gb', True)
         ('gpu-x900-pcie', '2gpu-8vcpu-64gb', False): '3.10',
         ('gpu-b200-sxm', '8gpu-160vcpu-1792gb', False): estimate('44', currency='ils')})


def main():
    account = committed()

    def write(label, name, value):
        data = message(name, value).SerializeToString()
        assert b'\0' not in data, label  # readers of fixtures take texts
        with open(os.path.join(FIXTURES, label + '.pb'), 'wb') as file:
            file.write(data)
    write('tenants', 'Tenants', {'items': account.tenants})
    for page in range(2):
        asked = message('ListProjects', {'page_size': 999, 'page_token': str(2 * page or '')})
        write(f'projects-{page + 1}', 'Projects', account.page(account.projects, asked))
    for region, platforms in account.platforms.items():
        for page in range((len(platforms) + 1) // 2):
            asked = message('ListPlatforms', {'page_size': 999, 'page_token': str(2 * page or '')})
            write(f'platforms-{region}-{page + 1}', 'Platforms', account.page(platforms, asked))
    for (name, preset, is_spot), cost in account.prices.items():
        region = 'us-central1' if 'b200' in name else 'eu-north1'
        write(f'estimate-{region}-{name}_{preset}{"-spot" if is_spot else ""}', 'Estimates',
              cost if isinstance(cost, dict) else estimate(cost))


if __name__ == '__main__':
    sys.exit(main())
