"""How expert cases are written: asking the product, and reading what it answers."""
import os

GIB = 2 ** 30
MARKET = os.path.join(os.path.dirname(os.path.abspath(__file__)), "market.csv")
CASES = []

# "bundled": the prices that come with the product; "market": those of market.csv.
services = {}

LLAMA_8B = "meta-llama/Llama-3.1-8B"
LLAMA_70B = "meta-llama/Llama-3.1-70B"
LLAMA_13B = "meta-llama/Llama-2-13b-hf"
QWEN_32B = "Qwen/Qwen2.5-32B"


def case(demands, sentence):
    """A case: the demands of the guide that it shows (none: a complaint of a peer's users)."""
    def keep(function):
        CASES.append((demands.split(), sentence, function))
        return function
    return keep


class Answer:
    def __init__(self, body):
        self.body = body
        self.items = body["recommendations"]
        self.memory = body["memory"]

    @property
    def first(self):
        assert self.items, "nothing is recommended: %s" % [
            (e["reason"], e["text"]) for e in self.body["excluded"]]
        return self.items[0]

    def on(self, card=None, count=None, **offer):
        """Recommendations of that card (whole words of its name), that many GPUs, that offer."""
        return [i for i in self.items if (not card or " %s " % card in " %s " % i["offer"]["accelerator"]) and
                count in (None, gpus(i)) and all(i["offer"][k] == v for k, v in offer.items())]

    def one(self, card=None, count=None, **offer):
        found = self.on(card, count, **offer)
        assert found, "no %s x %s %s among %s; left out: %s" % (
            count, card, offer, [label(i) for i in self.items],
            [(e["reason"], (e["nearest"] or {}).get("text")) for e in self.body["excluded"]])
        return found[0]

    def excluded(self, reason):
        return next((e for e in self.body["excluded"] if e["reason"] == reason), None)

    def remedy(self, code):
        return next((r for r in self.body["remedies"] if r["code"] == code), None)


def post(path, body, where="bundled"):
    return services[where].post(path, body)


def ask(workload, market=None, **rest):
    """Recommendations from the bundled prices, or from one little market of market.csv."""
    if market:
        rest["filters"] = dict(rest.get("filters", {}), regions=market.split())
        rest.setdefault("group", "offer")
    rest.setdefault("limit", 100)
    answer = post("/v1/recommendations", {"workload": workload, **rest},
                  "market" if market else "bundled")
    assert answer.status_code == 200, answer.text
    return Answer(answer.json())


def size(workload):
    """Memory on one GPU of any size."""
    answer = post("/v1/sizing", {"workload": workload})
    assert answer.status_code == 200, answer.text
    return answer.json()["memory"]


def tune(model=LLAMA_8B, method="lora", **rest):
    rest.setdefault("sequence_length", 2048)
    return dict({"task": "finetune", "model": model, "method": method}, **rest)


def pretrain(model=LLAMA_8B, **rest):
    rest.setdefault("sequence_length", 4096)
    return dict({"task": "pretrain", "model": model}, **rest)


def serve(model=LLAMA_8B, **rest):
    rest.setdefault("prompt_tokens", 1024)
    rest.setdefault("output_tokens", 256)
    return dict({"task": "inference", "model": model}, **rest)


def gpus(item):
    return item["plan"]["gpus"] * item["plan"]["nodes"]


def card_gb(item):
    return item["offer"]["memory_per_gpu_gb"]


def total(item):
    return item["cost"]["total_usd"]


def hourly(item):
    return item["cost"]["usd_per_hour"]


def rate(item):
    return item["speed"]["tokens_per_second"]


def label(item):
    return "%s x %g %s at %s" % (item["plan"]["nodes"], item["offer"]["count"],
                                 item["offer"]["accelerator"], item["offer"]["provider"])


def codes(item):
    return [n["code"] for n in item["reasons"] + item["warnings"]]


def text(item, code):
    return next((n["text"] for n in item["reasons"] + item["warnings"] if n["code"] == code), "")


def spread(item):
    """GPUs that hold one copy of the model."""
    plan = item["plan"]
    return plan["tensor_parallel"] * plan["pipeline_parallel"]
