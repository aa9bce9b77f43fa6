"""Rounds of the real worker on a price list that changes: what the tests and the example of a history are made of."""
import os
import subprocess
import tempfile

from gateway import BINARY, SLOW

HEADER = "provider,region,instance_type,accelerator,count,price_usd_per_hour,availability,quantity\n"
STAYS = "pool,berlin,rack-2,L4 24GB,1,0.20,yes,4\npool,berlin,rack-3,L40S 48GB,1,0.90,yes,4\n"
# (what the list says of rack-1, the event that the history tells of it)
ROUNDS = (("9.60,yes,3", "listed"), ("9.60,yes,3", None), ("8.4,yes,2", "changed"), ("8.4,no,0", "changed"),
          (None, "withdrawn"), ("8.000001,,", "listed"))


def run(database_url, after=lambda number: None):
    """The whole life of rack-1, into an empty database. `after` is called after each round."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GPUPICK_")}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "pool.csv")
        environment.update(GPUPICK_DATABASE_URL=database_url, GPUPICK_PRICE_FILES=path, GPUPICK_BUNDLED="false",
                           GPUPICK_PROVIDERS="lambda")  # skipped without a key: nothing leaves
        for number, (row, _) in enumerate(ROUNDS):
            with open(path, "w", encoding="utf-8") as file:
                file.write(HEADER + STAYS + ("pool,berlin,rack-1,H100 SXM5 80GB,8,%s\n" % row if row else ""))
            done = subprocess.run([BINARY, "ingest", "--once"], env=environment, capture_output=True, text=True,
                                  timeout=60 * SLOW)
            # Its status tells that no feed ran besides.
            assert '"source":"file:pool.csv","outcome":"ok"' in done.stderr, done.stdout + done.stderr
            after(number)
