#!/usr/bin/python3
"""Seeds of fuzz_price_list: seed_price_list.py PROGRAM|- FOLDER. A list in each dialect and form.

With PROGRAM, runs it on them.
"""
import itertools
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
BUNDLED = os.path.join(HERE, '..', '..', 'server', 'ingest', 'bundled.csv')
OWN = ('provider,region,zone,instance_type,accelerator,count,tier,price_kind,term_months,memory_gb,vcpus,ram_gib,'
       'disk_gb,price_usd_per_hour,spot_price_usd_per_hour,availability,quantity,country,observed_on,source\n')
LISTS = {
    'own': OWN + 'pool,berlin,z,"rack, ""1""",H100 SXM5 80GB,8,,on_demand,,640,192,2048,,9.60,4.80,yes,3,DE,'
                 '2025-06-01,us\npool,r,,b,T4 16GB,1/2,deal,reserved,12,8,4,16,,0.25,,no,,,2025-06-01T10:00:00Z,\n',
    'skypilot': 'InstanceType,vCPUs,MemoryGiB,AcceleratorName,AcceleratorCount,GpuInfo,Price,SpotPrice,Region,'
                'AvailabilityZone\np4d.24xlarge,96,1152,A100,8,"{\'Gpus\': []}",32.77,9.8,us-east-1,us-east-1a\n'
                'm5.large,2,8,,,,0.096,,us-east-1,us-east-1a\n',
    'shadeform': 'cloud,region,availability_zone,instance_type,accelerator,count,gpu_mem_gib,vcpus,mem_gib,'
                 'price_hour,spot_price_hour\nshadeform/imwt,us,,h100x2,H100,2,80,48,400,4.20,0\n',
    'list': '[{"provider":"pool","instance_type":"a","accelerator":"L4 24GB","count":1,"price_usd_per_hour":0.2},\n'
            '{"provider":"pool","accelerator":"X9 \\u00e9","count":"2","price_usd_per_hour":"1.50","quantity":0}]',
    'object': '{"offers":[{"accelerator":"H100 SXM5 80GB","count":8,"price_usd_per_hour":16.0,"term_months":1,'
              '"price_kind":"reserved","observed_on":"2026-01-01","tier":null}],"note":"ours"}',
}


def main():
    program, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    with open(BUNDLED, encoding='utf-8') as file:
        lists = dict(LISTS, bundled=''.join(itertools.islice(file, 30)))
    seeds = []
    for number, (name, text) in enumerate(lists.items()):
        seeds.append(os.path.join(folder, name))
        with open(seeds[-1], 'wb') as file:
            file.write(bytes([number % 2]) + text.encode())
    return 0 if program == '-' else subprocess.run([program, *seeds]).returncode


if __name__ == '__main__':
    sys.exit(main())
