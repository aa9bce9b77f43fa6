#!/usr/bin/python3
"""`launch` of pipelines: scripts that a shell and Python can read, and that do what the plan says."""
import ast
import json
import os
import re
import subprocess
import unittest

import yaml

PRINT = os.environ["GPUPICK_PRINT_LAUNCH"]
FLUX, WAN = "black-forest-labs/FLUX.1-dev", "Wan-AI/Wan2.1-T2V-14B-Diffusers"
SOUND = "stabilityai/stable-audio-open-1.0"


def run_of(model, fields, **given):
    done = subprocess.run([PRINT, model, fields] + ["%s=%s" % i for i in given.items()], check=True,
                          capture_output=True, text=True)
    return yaml.safe_load(json.loads(done.stdout)["launch"]["skypilot"]["task"])


def script_of(run):
    subprocess.run(["bash", "-n", "-c", run], check=True, capture_output=True)
    return re.search(r"<<'EOF'\n(.*?)\nEOF\n", run, re.S).group(1)


def calls_of(script):
    """Every call of the script: what is called, and its keywords that are constants."""
    return {ast.unparse(node.func): {k.arg: k.value.value for k in node.keywords if isinstance(k.value, ast.Constant)}
            for node in ast.walk(ast.parse(script)) if isinstance(node, ast.Call)}


class Pipelines(unittest.TestCase):
    def test_an_item_is_what_was_asked_in_whole_tokens(self):
        cases = ((FLUX, "width=768 height=512 steps=9 batch=3",
                  {"width": 768, "height": 512, "num_inference_steps": 9, "num_images_per_prompt": 3}),
                 (FLUX, "width=1001 height=777", {"width": 992, "height": 768, "num_inference_steps": 28,
                                                   "num_images_per_prompt": 1}),
                 (WAN, "frames=49 steps=20", {"num_frames": 49, "num_inference_steps": 20, "width": 1280, "height": 720}),
                 (SOUND, "seconds=12.5", {"audio_end_in_s": 12.5, "num_inference_steps": 100}))
        for model, fields, wanted in cases:
            with self.subTest(model):
                task = run_of(model, "task=inference " + fields, gpus=1)
                self.assertEqual(calls_of(script_of(task["run"]))["pipe"], wanted)
                self.assertEqual(task["envs"]["MODEL"], model)
                self.assertIn("PROMPTS", task["envs"])

    def test_formats_and_places(self):
        cases = (("weights=bf16", "", "pipe.to", None), ("weights=nf4", "", "pipe.to", "bitsandbytes_4bit"),
                 ("weights=fp8", "media_offload=model", "pipe.enable_model_cpu_offload", "torchao"),
                 ("weights=bf16", "media_offload=group", "pipe.transformer.enable_group_offload", None),
                 ("weights=bf16", "media_offload=sequential", "pipe.enable_sequential_cpu_offload", None),
                 ("weights=bf16", "vae_tiling=true", "pipe.vae.enable_tiling", None),
                 ("weights=bf16", "compile=true", "torch.compile", None))
        for weights, fields, called, backend in cases:
            with self.subTest(weights + " " + fields):
                given = dict([weights.split("=")], gpus=1)
                calls = calls_of(script_of(run_of(FLUX, "task=inference " + fields, **given)["run"]))
                self.assertIn(called, calls)
                self.assertEqual(calls.get("PipelineQuantizationConfig", {}).get("quant_backend"), backend)

    def test_copies_and_shared_items(self):
        run = run_of(WAN, "task=inference", gpus=8, context=4, replicas=2)["run"]
        self.assertEqual(calls_of(script_of(run))["ContextParallelConfig"], {"ulysses_degree": 4})
        self.assertIn("torchrun --nproc-per-node 4", run)
        self.assertIn("COPIES=2", run)
        copies = run_of(FLUX, "task=inference", gpus=4, replicas=4)["run"]
        self.assertIn("seq 0 3", copies)
        self.assertNotIn("torchrun", copies)
        self.assertIn("xDiT", run_of(WAN, "task=inference", gpus=2, guidance=2)["run"])
        self.assertNotIn("vllm", run + copies)

    def test_training(self):
        task = run_of("stabilityai/stable-diffusion-xl-base-1.0",
                      "task=finetune method=lora examples=1000 epochs=8 lora_rank=32", gpus=2, data=2, micro_batch=4,
                      accumulation=2, recompute="full")
        subprocess.run(["bash", "-n", "-c", task["run"]], check=True)
        for wanted in ("--num_processes 2", "--train_batch_size 4", "--gradient_accumulation_steps 2", "--rank 32",
                       "--gradient_checkpointing", "--max_train_steps 500", "--resolution 1024"):
            self.assertIn(wanted, task["run"])
        self.assertTrue({"MODEL", "DATASET", "SCRIPT"} <= set(task["envs"]))


if __name__ == "__main__":
    unittest.main()
