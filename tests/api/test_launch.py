#!/usr/bin/python3
"""`launch`: tasks that parse, say what the plan says, and that no foreign name can break out of."""
import json
import os
import re
import shlex
import subprocess
import unittest

import yaml
from service import Service

PRINT = os.environ["GPUPICK_PRINT_LAUNCH"]
QLORA = ("meta-llama/Llama-3.1-8B", "task=finetune method=qlora total_tokens=6553600")
FULL = ("meta-llama/Llama-3.1-8B", "task=finetune method=full")
SERVE = ("meta-llama/Llama-3.1-8B",
         "task=inference prompt_tokens=3000 output_tokens=1000 gpu_memory_utilization=0.9")


def launch(workload, **given):
    done = subprocess.run([PRINT, *workload] + ["%s=%s" % i for i in given.items()], check=True,
                          capture_output=True, text=True)
    return json.loads(done.stdout)["launch"]


def sky(workload, **given):
    return yaml.safe_load(launch(workload, **given)["skypilot"]["task"])


def dstack(workload, **given):
    return yaml.safe_load(launch(workload, **given)["dstack"]["task"])


def commands(script):
    """The lines of a script as lists of words, continued lines joined, comments left out."""
    lines = script.replace("\\\n", " ").splitlines()
    return [shlex.split(line) for line in lines if line.strip() and line.lstrip()[0] != "#"]


def flags(script, program):
    """The flags of the command that starts with `program`, and their values."""
    words = next(c for c in commands(script) if c[0] == program)
    found = {}
    for i, word in enumerate(words):
        if word.startswith("--"):
            value = words[i + 1] if i + 1 < len(words) else "-"
            found[word] = None if value.startswith("-") else value
    return found


def checked_by_shell(script):
    subprocess.run(["bash", "-n", "-c", script], check=True, capture_output=True)


class Tasks(unittest.TestCase):
    def test_where_it_runs(self):
        cases = (
            (dict(), ("aws/us-east-1", "p5.48xlarge", None),
             (["aws"], ["us-east-1"], ["p5.48xlarge"], "nvidia:8")),
            (dict(zone="us-east-1a", kind="spot"), ("aws/us-east-1/us-east-1a", "p5.48xlarge", None),
             (["aws"], ["us-east-1"], ["p5.48xlarge"], "nvidia:8")),
            (dict(provider="gcp", region="us-central1", type="a2-ultragpu-8g",
                  accelerator="A100 SXM4 80GB"),
             ("gcp/us-central1", "a2-ultragpu-8g", "A100-80GB:8"),
             (["gcp"], ["us-central1"], ["a2-ultragpu-8g"], "nvidia:8")),
            (dict(provider="gcp", region="us-east4", type="a3-megagpu-8g"),
             ("gcp/us-east4", "a3-megagpu-8g", "H100-MEGA:8"),
             (["gcp"], ["us-east4"], ["a3-megagpu-8g"], "nvidia:8")),
            (dict(provider="nebius", region="eu-north1", type="gpu-h100-sxm_8gpu-128vcpu-1600gb"),
             ("nebius/eu-north1", "gpu-h100-sxm_8gpu-128vcpu-1600gb", None),
             (["nebius"], ["eu-north1"], ["gpu-h100-sxm 8gpu-128vcpu-1600gb"], "nvidia:8")),
            (dict(provider="runpod", region="US-TX-3", country="US", gpus=2,
                  type="NVIDIA H100 80GB HBM3"),
             ("runpod/US/US-TX-3", None, "H100-SXM:2"),
             (["runpod"], ["US-TX-3"], ["NVIDIA H100 80GB HBM3"], "nvidia:2")),
            (dict(provider="verda", region="FIN-03", type="1B200.30V", gpus=1,
                  accelerator="B200 SXM 180GB"), ("verda/FIN-03", "1B200.30V", None),
             (["verda"], ["FIN-03"], ["1B200.30V"], "nvidia:1")),
            (dict(provider="digitalocean", region="nyc2", type="gpu-h100x8-640gb"),
             ("do/nyc2", "gpu-h100x8-640gb", None),
             (["digitalocean"], ["nyc2"], ["gpu-h100x8-640gb"], "nvidia:8")),
            (dict(provider="shadeform", region="dallas-usa-3", type="lambdalabs_H100-sxm5x8"),
             ("shadeform/dallas-usa-3", "lambdalabs_H100-sxm5x8", None), None),
            (dict(provider="vast", region="FR", country="FR", type="machine-1-2x", gpus=2,
                  accelerator="RTX 4090 24GB"), None, (["vastai"], None, None, "RTX4090:2")))
        for given, wanted_sky, wanted_dstack in cases:
            found = launch(QLORA, **given)
            with self.subTest(given):
                if wanted_sky:
                    resources = yaml.safe_load(found["skypilot"]["task"])["resources"]
                    self.assertEqual((resources["infra"], resources.get("instance_type"),
                                      resources.get("accelerators")), wanted_sky)
                    self.assertEqual(resources["use_spot"], given.get("kind") == "spot")
                else:
                    self.assertIsNone(found["skypilot"]["task"])
                    self.assertTrue(found["skypilot"]["reason"])
                if wanted_dstack:
                    task = yaml.safe_load(found["dstack"]["task"])
                    self.assertEqual((task["backends"], task.get("regions"),
                                      task.get("instance_types"), task["resources"]["gpu"]),
                                     wanted_dstack)
                    self.assertEqual(task["spot_policy"],
                                     "spot" if given.get("kind") == "spot" else "on-demand")
                else:
                    self.assertIsNone(found["dstack"]["task"])
                    self.assertTrue(found["dstack"]["reason"])

    def test_what_cannot_be_right_is_not_written(self):
        """One reason each; `both` where no tool can."""
        both, only_sky, only_dstack = ("skypilot", "dstack"), ("skypilot",), ("dstack",)
        for given, tools, words in (
                (dict(kind="reserved"), both, "contract"),
                (dict(provider="nobody"), both, "does not serve"),
                (dict(accelerator="MI300X 192GB"), both, "CUDA"),
                (dict(provider="lambda", kind="spot"), both, "spot"),
                (dict(provider="runpod", nodes=2), both, "single machines"),
                (dict(provider="verda", nodes=2), both, "single machines"),
                (dict(provider="lambda", nodes=2), only_dstack, "single machines"),
                # dstack's H100 at Vast is the SXM or the PCIe one.
                (dict(provider="vast"), both, "No name"),
                (dict(provider="runpod", accelerator="RTX 5090 32GB"), only_sky, "No name"),
                (dict(provider="gcp", accelerator="T4 16GB"), only_sky, "No name"),
                (dict(provider="lambda", accelerator="GH200 96GB"), only_dstack, "ARM"),
                (dict(provider="tensordock"), only_sky, "does not serve"),
                # A sixth of an A10: its type says so, a number of GPUs could not.
                (dict(provider="azure", type="Standard_NV6ads_A10_v5", gpus=1, count_milli=167,
                      accelerator="A10 24GB"), only_dstack, "slice"),
                (dict(provider="gcp", type="g2-standard-4", gpus=1, count_milli=500,
                      accelerator="L4 24GB"), both, "slice")):
            found = launch(FULL, **given)
            for tool in tools:
                self.assertIsNone(found[tool]["task"], (given, tool))
                self.assertIn(words, found[tool]["reason"], given)
            for tool in set(both) - set(tools):
                if given.get("provider") != "tensordock":
                    self.assertTrue(found[tool]["task"], (given, tool))

    def test_fine_tuning(self):
        given = dict(sharding="zero3", recompute="full", data=16, nodes=2, micro_batch=2,
                     accumulation=4)
        for task, script in ((sky(QLORA, **given), "run"), (dstack(QLORA, **given), "commands")):
            text = task[script] if script == "run" else "\n".join(task[script])
            checked_by_shell(text)
            found = flags(text, "accelerate")
            for flag, value in (("--num_processes", "16"), ("--num_machines", "2"),
                                ("--machine_rank", "$NODE_RANK"),
                                ("--main_process_ip", "$MASTER_ADDR"),
                                ("--fsdp_sharding_strategy", "FULL_SHARD"),
                                ("--model_name_or_path", "$MODEL"), ("--dataset_name", "$DATASET"),
                                ("--per_device_train_batch_size", "2"),
                                ("--gradient_accumulation_steps", "4"),
                                ("--gradient_checkpointing", "true"), ("--load_in_4bit", None),
                                ("--max_steps", "100")): # 6,553,600 tokens by 65,536 a step
                self.assertIn(flag, found)
                self.assertEqual(found[flag], value, flag)
        self.assertEqual(sky(QLORA, **given)["num_nodes"], 2)
        self.assertEqual(dstack(QLORA, **given)["nodes"], 2)
        self.assertNotIn("--use_peft", flags(sky(FULL)["run"], "accelerate"))
        self.assertNotIn("num_nodes", sky(QLORA))

    def test_weights_and_states_are_kept_as_the_plan_has_them(self):
        lora, full = "task=finetune method=lora", "task=finetune method=full"
        for fields, given, wanted in (
                (lora, {}, {"--dtype": "bfloat16"}), (full, {}, {"--dtype": "float32"}),
                (full + " precision=bf16", {}, {"--dtype": "bfloat16"}),
                (full, dict(sharding="zero1"), {"--zero_stage": "1"}),
                (full, dict(sharding="zero2"), {"--fsdp_sharding_strategy": "SHARD_GRAD_OP"}),
                (full, dict(sharding="zero3", offload="optimizer"),
                 {"--zero_stage": "3", "--offload_optimizer_device": "cpu"}),
                (full, dict(gpus=1, sharding="none", offload="parameters"),
                 {"--zero_stage": "3", "--offload_param_device": "cpu"}),
                (full + " stack=deepspeed", dict(sharding="zero2"), {"--zero_stage": "2"}),
                (full, dict(sharding="none"), {"--multi_gpu": None})):
            found = flags(sky((QLORA[0], fields), **{"offload": "none", **given})["run"],
                          "accelerate")
            for flag, value in wanted.items():
                self.assertIn(flag, found, (fields, given))
                self.assertEqual(found[flag], value, (fields, given))
            self.assertEqual("--use_deepspeed" in found, "--zero_stage" in wanted)

    def test_pre_training(self):
        given = dict(tensor=4, pipeline=2, data=2, nodes=2, micro_batch=1, accumulation=8,
                     sharding="zero1", recompute="selective")
        found = flags(sky((QLORA[0], "task=pretrain stack=megatron total_tokens=655360000"),
                          **given)["run"], "torchrun")
        for flag, value in (("--nnodes", "2"), ("--nproc-per-node", "8"),
                            ("--tensor-model-parallel-size", "4"),
                            ("--pipeline-model-parallel-size", "2"), ("--micro-batch-size", "1"),
                            ("--global-batch-size", "16"), ("--use-distributed-optimizer", None),
                            ("--recompute-activations", None), ("--train-iters", "10000")):
            self.assertIn(flag, found)
            self.assertEqual(found[flag], value, flag)
        found = flags(sky((QLORA[0], "task=pretrain stack=torchtitan"), data=16, nodes=2,
                          sharding="hybrid")["run"], "torchrun")
        self.assertEqual((found["--parallelism.data_parallel_shard_degree"],
                          found["--parallelism.data_parallel_replicate_degree"]), ("8", "2"))

    def test_serving(self):
        given = dict(tensor=2, replicas=4, sequences=40, kv="fp8", gpus=8)
        task = sky(SERVE, **given)
        found = flags(task["run"], "vllm")
        for flag, value in (("--tensor-parallel-size", "2"), ("--data-parallel-size", "4"),
                            ("--max-model-len", "4000"), ("--max-num-seqs", "40"),
                            ("--kv-cache-dtype", "fp8"), ("--gpu-memory-utilization", "0.90"),
                            ("--port", "8000"), ("--api-key", "$API_KEY")):
            self.assertEqual(found[flag], value, flag)
        self.assertEqual(task["resources"]["ports"], 8000)
        self.assertIn("API_KEY", task["secrets"])
        self.assertEqual(dstack(SERVE, **given)["ports"], [8000])
        # Copies on two machines are two servers of half the copies each.
        self.assertEqual(flags(sky(SERVE, nodes=2, **given)["run"],
                               "vllm")["--data-parallel-size"], "2")
        for engine, program, flag, value in (
                ("sglang", "python3", "--tp-size", "2"),
                ("tensorrt_llm", "trtllm-serve", "--tp_size", "2"),
                ("llama_cpp", "llama-server", "--ctx-size", "160000")):
            task = sky((SERVE[0], "task=inference engine=%s prompt_tokens=3000 output_tokens=1000"
                        % engine), **given)
            self.assertEqual(flags(task["run"], program)[flag], value)
            # Where no key guards it, no port is opened to the world.
            self.assertEqual("ports" in task["resources"], engine != "tensorrt_llm")
        # A card without bf16 runs the other 16 bits, and the engine has to be told.
        self.assertEqual(flags(sky(SERVE, weights="fp16")["run"], "vllm")["--dtype"], "half")
        self.assertNotIn("--dtype", flags(sky(SERVE)["run"], "vllm"))
        # What the cache holds is let in, at least what the plan counts on.
        for held, wanted in ((0, "40"), (100, "50"), (40, "40"), (9000, "256")):
            self.assertEqual(flags(sky(SERVE, replicas=2, sequences=40, held=held)["run"],
                                   "vllm")["--max-num-seqs"], wanted)
        text = launch((SERVE[0], SERVE[1] + " weight_format=awq"), weights="awq")
        self.assertIn("MODEL must name a checkpoint", text["skypilot"]["task"])

    def test_what_hears_and_sees(self):
        whisper = "openai/whisper-large-v3"
        # Its decoder holds 448 tokens, however long the sound.
        run = sky((whisper, "task=inference seconds=600"), weights="fp16")["run"]
        self.assertEqual(flags(run, "vllm")["--max-model-len"], "448")
        run = sky((whisper, "task=inference engine=llama_cpp beams=5"), weights="fp16")["run"]
        self.assertEqual(flags(run, "whisper-server")["--beam-size"], "5")
        task = sky((whisper, "task=inference engine=ctranslate2 beams=2"), weights="int8",
                   sequences=12)
        self.assertIn("batch_size=12, beam_size=2", task["run"])
        self.assertIn("int8_float16", task["run"])
        self.assertEqual(set(task["envs"]), {"MODEL", "AUDIO"})
        self.assertNotIn("ports", task["resources"])
        checked_by_shell(task["run"])
        run = sky(("Qwen/Qwen2.5-VL-7B-Instruct", "task=inference images_per_request=3"))["run"]
        self.assertEqual(json.loads(flags(run, "vllm")["--limit-mm-per-prompt"]),
                         {"image": 3, "video": 0})

    def test_what_only_the_caller_has_is_declared(self):
        """Where a script or a configuration of the caller's is needed, his folder goes along."""
        for fields, variable, files in (
                ("task=pretrain stack=megatron", "MODEL_ARGS", False),
                ("task=pretrain stack=torchtitan", "CONFIG", True),
                ("task=pretrain stack=huggingface", "SCRIPT", True),
                ("task=finetune method=lora stack=unsloth", "SCRIPT", True),
                ("task=finetune method=lora", None, False)):
            task, other = sky((QLORA[0], fields)), dstack((QLORA[0], fields))
            self.assertEqual("workdir" in task, files, fields)
            self.assertEqual("files" in other, files, fields)
            self.assertEqual(set(task["envs"]), {"MODEL", "DATASET"} | {variable} - {None})
            self.assertEqual({e.split("=")[0] for e in other["env"]},
                             {"MODEL", "DATASET", "HF_TOKEN"} | {variable} - {None})

    def test_what_the_task_leaves_empty_its_command_passes_on(self):
        """Of an empty variable the guard would only say that it is missing."""
        for workload, given in ((QLORA, {}), (QLORA, {"model": "config"}), (SERVE, {}),
                                (SERVE, {"model": "parameters"}),
                                ((QLORA[0], "task=pretrain stack=torchtitan"), {})):
            text = launch(workload, **given)["skypilot"]["task"]
            task, command = yaml.safe_load(text), text.splitlines()[0].split()
            for kind, flag in (("envs", "--env"), ("secrets", "--secret")):
                empty = {name for name, value in task[kind].items() if not value}
                passed = {command[i + 1] for i, word in enumerate(command) if word == flag}
                self.assertEqual(passed, empty, command)

    def test_the_caller_is_asked_before_anything_runs(self):
        run = sky(QLORA)["run"]
        for environment, status in (({}, 1), ({"MODEL": "m", "DATASET": "d"}, 0)):
            guards = "\n".join(l for l in run.splitlines() if l.lstrip().startswith(':'))
            done = subprocess.run(["bash", "-c", guards], env=environment, capture_output=True,
                                  check=False)
            self.assertEqual(done.returncode != 0, status != 0)

    def test_spot_is_put_where_it_is_recovered(self):
        self.assertIn("# sky jobs launch ", launch(QLORA, kind="spot")["skypilot"]["task"])
        self.assertIn("# sky launch --down ", launch(QLORA)["skypilot"]["task"])

    def test_names_are_short_and_plain(self):
        for model in ("meta-llama/Llama-3.1-8B", "mistralai/Mixtral-8x22B-Instruct-v0.1"):
            self.assertRegex(sky((model, QLORA[1]))["name"], r"^[a-z][a-z0-9-]{1,38}[a-z0-9]$")


class Commands(unittest.TestCase):
    def words(self, **given):
        text = launch(QLORA, **given)["provider"]["command"]
        checked_by_shell(text)
        return commands(text)

    def test_aws(self):
        words = self.words(nodes=4, kind="spot")[0]
        self.assertEqual(words[:3], ["aws", "ec2", "run-instances"])
        for flag, value in (("--region", "us-east-1"), ("--instance-type", "p5.48xlarge"),
                            ("--count", "4"), ("--instance-market-options", "MarketType=spot")):
            self.assertEqual(words[words.index(flag) + 1], value)
        self.assertNotIn("--instance-market-options", self.words()[0])

    def test_others(self):
        for given, wanted in (
                (dict(provider="gcp", zone="us-central1-a", type="a3-highgpu-8g", kind="spot"),
                 ["gcloud", "us-central1-a", "a3-highgpu-8g", "SPOT"]),
                (dict(provider="azure", region="eastus", type="Standard_ND96isr_H100_v5"),
                 ["az", "eastus", "Standard_ND96isr_H100_v5"]),
                (dict(provider="runpod", type="NVIDIA H100 80GB HBM3", tier="community", gpus=2),
                 ["runpodctl", "NVIDIA H100 80GB HBM3", "2", "--communityCloud"]),
                (dict(provider="digitalocean", region="nyc2", type="gpu-h100x8-640gb"),
                 ["doctl", "nyc2", "gpu-h100x8-640gb", "gpu-h100x8-base"]),
                (dict(provider="scaleway", zone="fr-par-2", type="H100-1-80G"),
                 ["scw", "zone=fr-par-2", "type=H100-1-80G"])):
            words = self.words(**given)[0]
            for word in wanted:
                self.assertIn(word, words, given)
        body = self.words(provider="lambda", type="gpu_8x_h100_sxm5")[0]
        sent = json.loads(body[body.index("--json") + 1].replace("${SSH_KEY_NAME:?}", "key"))
        self.assertEqual((sent["region_name"], sent["instance_type_name"]),
                         ("us-east-1", "gpu_8x_h100_sxm5"))

    def test_vast_is_rented_by_the_machine(self):
        """The id to rent under lives for minutes: it is searched for by the machine's number."""
        given = dict(provider="vast", type="machine-4711-2x", gpus=2, accelerator="RTX 4090 24GB")
        search, create = self.words(**given)
        self.assertEqual(search[:4], ["vastai", "search", "offers",
                                      "machine_id=4711 num_gpus=2 rentable=true"])
        self.assertEqual(create[:3], ["vastai", "create", "instance"])
        self.assertNotIn("--bid_price", create)
        self.assertIn("--bid_price", self.words(kind="spot", **given)[1])
        for name in ("machine-4711-3x", "machine-4711-2x; reboot", "machine--1-2x", "2x-RTX_4090"):
            self.assertIsNone(launch(QLORA, **dict(given, type=name))["provider"]["command"])

    def test_where_no_command_is_known_there_is_a_page(self):
        for provider in ("verda", "hyperstack", "vast"):
            found = launch(QLORA, provider=provider)
            self.assertIsNone(found["provider"]["command"])
            self.assertTrue(found["provider"]["reason"])
            self.assertTrue(found["page"].startswith("https://"))
        self.assertIsNone(launch(QLORA, provider="runpod", kind="spot")["provider"]["command"])


class Hostile(unittest.TestCase):
    """Feeds are foreign: a name from one must stay one name wherever it stands."""

    NAMES = ("x; touch /tmp/owned", "$(reboot)", "`reboot`", "a'b", 'a"b', "a\\b", "a\\\"b", "- x",
             "x # y", "x: y", "{x}", "*", "${IFS}", "}x", "!!python/object/apply:os.system", "é")

    def test_in_yaml(self):
        for name in self.NAMES:
            found = launch(SERVE, region=name, type=name, zone=name)
            if re.search("[/*]", name): # would be another place, or any
                self.assertIsNone(found["skypilot"]["task"])
                self.assertIn("the place", found["skypilot"]["reason"])
            else:
                task = yaml.safe_load(found["skypilot"]["task"])
                self.assertEqual(task["resources"]["infra"], "aws/%s/%s" % (name, name))
                self.assertEqual(task["resources"]["instance_type"], name)
                self.assertEqual(set(task), {"name", "resources", "envs", "secrets", "setup",
                                             "run"})
                self.assertNotIn(name, task["run"] + task["setup"])
            task = yaml.safe_load(found["dstack"]["task"])
            self.assertEqual((task["regions"], task["instance_types"]), ([name], [name]))

    def test_in_the_shell(self):
        """Run for real, with the provider's program replaced by one that prints its words."""
        for provider in ("aws", "azure", "gcp", "runpod", "linode", "scaleway", "digitalocean",
                         "lambda"):
            for name in self.NAMES:
                text = launch(QLORA, provider=provider, region=name, type=name, zone=name,
                              gpus=1)["provider"]["command"]
                if text is None: # refused: fine
                    continue
                program = text.split()[0]
                script = "%s() { printf '%%s\\n' \"$@\"; }\n%s" % (program, text)
                done = subprocess.run(
                    ["bash", "-c", script], capture_output=True, text=True, check=False,
                    env={key: "given" for key in re.findall(r"\$\{(\w+):", text)})
                self.assertEqual((done.returncode, done.stderr), (0, ""), (provider, name))
                self.assertTrue([w for w in done.stdout.splitlines()
                                 if w in (name, "type=" + name)], (provider, name, done.stdout))

    def test_control_characters_are_refused(self):
        for name in ("a\nb", "a\rb", "a\x1bb", "a\tb", "a\x7fb", "x" * 300):
            for place in ("region", "type", "zone"):
                found = launch(QLORA, **{place: name})
                for key, text in (("skypilot", "task"), ("dstack", "task"),
                                  ("provider", "command")):
                    self.assertIsNone(found[key][text], (place, name))
                    self.assertTrue(found[key]["reason"])


class Answer(unittest.TestCase):
    def test_on_request_only_and_of_every_recommendation(self):
        service = Service()
        try:
            body = {"workload": {"task": "inference", "model": "meta-llama/Llama-3.1-8B"},
                    "limit": 100, "group": "offer"}
            plain = service.post("/v1/recommendations", body).json()
            self.assertFalse([i for i in plain["recommendations"] if "launch" in i])
            items = service.post("/v1/recommendations",
                                 dict(body, launch=True)).json()["recommendations"]
            tasks = 0
            for item in items:
                for tool in ("skypilot", "dstack"):
                    text, reason = item["launch"][tool]["task"], item["launch"][tool]["reason"]
                    self.assertEqual(text is None, reason is not None, item["offer"])
                    tasks += bool(text and yaml.safe_load(text))
                self.assertTrue(item["launch"]["provider"]["command"] or item["launch"]["page"])
            self.assertGreater(tasks, 50)
            # The registry knows this one by its base, which has other weights.
            body["workload"]["model"] = "Qwen/Qwen2.5-32B-Instruct"
            tasks = [text for item in
                     service.post("/v1/recommendations",
                                  dict(body, launch=True)).json()["recommendations"]
                     if (text := item["launch"]["skypilot"]["task"])]
            self.assertEqual({yaml.safe_load(text)["envs"]["MODEL"] for text in tasks},
                             {"Qwen/Qwen2.5-32B-Instruct"})
        finally:
            self.assertEqual(service.stop(), 0)


if __name__ == "__main__":
    unittest.main()
