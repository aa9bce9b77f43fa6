#!/usr/bin/python3
"""Pipelines of pictures, video and sound over HTTP: speed by phase, cost by the item, reasons and remedies."""
import unittest

from service import Service

FLUX, WAN = "black-forest-labs/FLUX.1-dev", "Wan-AI/Wan2.1-T2V-14B-Diffusers"
HUNYUAN = "hunyuanvideo-community/HunyuanVideo"
SOUND, SDXL = "stabilityai/stable-audio-open-1.0", "stabilityai/stable-diffusion-xl-base-1.0"


def setUpModule():
    global service
    service = Service()


def tearDownModule():
    assert service.stop() == 0, service.log


def recommend(workload, **rest):
    answer = service.post("/v1/recommendations", {"workload": workload, **rest})
    assert answer.status_code == 200, answer.text
    return answer.json()


def text_of(notes, code):
    return next(n["text"] for n in notes if n["code"] == code)


class Pipelines(unittest.TestCase):
    def test_phases_and_units(self):
        cases = ((FLUX, {}, "thousand_images", 1000), (WAN, {}, "video_minute", 60 * 16 / 81),
                 (SOUND, {}, "audio_hour", 3600 / 47.5))
        for model, fields, unit, items in cases:
            with self.subTest(model):
                first = recommend({"task": "inference", "model": model, **fields})["recommendations"][0]
                speed, cost = first["speed"], first["cost"]
                self.assertAlmostEqual(speed["encode"]["seconds"] + speed["denoise"]["seconds"] +
                                       speed["decode"]["seconds"], speed["item_seconds"], delta=1e-4)
                copies = first["plan"]["replicas"]
                self.assertAlmostEqual(speed["items_per_hour"] * speed["item_seconds"] / 3600 / copies, 1, delta=1e-3)
                self.assertEqual((cost["basis"], cost["unit"]), ("unit", unit))
                self.assertEqual(cost["usd_per_unit"], cost["total_usd"])
                self.assertIsNone(cost["usd_per_million_tokens"])
                # What the machines cost for as long as they take over one unit.
                self.assertAlmostEqual(cost["compute_usd"] / (cost["usd_per_hour"] * items / speed["items_per_hour"]), 1,
                                       delta=1e-3)
                self.assertIn("an hour over", text_of(first["reasons"], "makes"))
                self.assertNotIn("token", " ".join(r["text"] for r in first["reasons"]))

    def test_what_a_pipeline_has_not_is_null(self):
        for model, layers in ((FLUX, None), ("meta-llama/Llama-3.1-8B", 32)):
            answer = recommend({"task": "inference", "model": model})
            self.assertEqual(answer["workload"]["model"]["layers"], layers)

    def test_a_rate_and_a_limit(self):
        answer = recommend({"task": "inference", "model": WAN, "items_per_hour": 30, "max_item_seconds": 400}, limit=20)
        self.assertTrue(answer["recommendations"])
        for item in answer["recommendations"]:
            self.assertLessEqual(item["speed"]["item_seconds"], 400)
            self.assertGreaterEqual(0.8 * item["speed"]["items_per_hour"], 30 - 1e-6)
            self.assertEqual(item["cost"]["basis"], "month")
        slow = [x for x in answer["excluded"] if x["reason"] == "too_slow"]
        self.assertIn("a video", slow[0]["nearest"]["text"])

    def test_an_editor_reads_what_it_edits(self):
        seconds = [recommend({"task": "inference", "model": model, "weight_format": "bf16"},
                             filters={"accelerators": ["H100 SXM5 80GB"], "max_gpus": 1}
                             )["recommendations"][0]["speed"]["item_seconds"]
                   for model in (FLUX, "black-forest-labs/FLUX.1-Kontext-dev")]
        # 4096 tokens of the reference stand beside 4096 of latents and 512 of text.
        self.assertGreater(seconds[1] / seconds[0], 1.6)
        self.assertLess(seconds[1] / seconds[0], 2.6)

    def test_the_nearest_of_what_is_too_slow_is_the_fastest(self):
        answer = recommend({"task": "inference", "model": FLUX, "weight_format": "bf16", "items_per_hour": 4000,
                            "max_item_seconds": 0.2})
        slow = [x["nearest"] for x in answer["excluded"] if x["reason"] == "too_slow"]
        self.assertIn("the limit is 0.2 s", slow[0]["text"])
        self.assertRegex(slow[0]["accelerator"], "B[23]00")

    def test_remedies_make_it_fit(self):
        asked = {"task": "inference", "model": FLUX, "weight_format": "bf16", "items": 1000}
        answer = recommend(asked, filters={"accelerators": ["RTX 4090"], "max_gpus": 1})
        self.assertFalse(answer["recommendations"])
        codes = {r["code"] for r in answer["remedies"]}
        self.assertTrue({"quantise_weights", "media_offload"} <= codes, codes)
        # What a remedy says holds of the changed request.
        changed = recommend({**asked, "weight_format": "nf4"}, filters={"accelerators": ["RTX 4090"], "max_gpus": 1})
        self.assertEqual(changed["recommendations"][0]["plan"]["weight_format"], "nf4")

    def test_two_remedies_at_once(self):
        asked = {"task": "inference", "model": HUNYUAN, "weight_format": "bf16", "vae_tiling": False, "items": 10}
        filters = {"accelerators": ["L40S 48GB"], "max_gpus": 1}
        answer = recommend(asked, filters=filters)
        self.assertFalse(answer["recommendations"])
        remedy = next(r for r in answer["remedies"] if r["code"] == "combined")
        self.assertEqual(remedy["changes"], ["vae_tiling", "media_offload"])
        changed = recommend({**asked, "vae_tiling": True, "media_offload": "group"}, filters=filters)
        self.assertTrue(changed["recommendations"])
        for other in answer["remedies"]:
            self.assertEqual(other["changes"] == [other["code"]], other["code"] != "combined")

    def test_the_published_example_tiles(self):
        filters = {"accelerators": ["H100 SXM5 80GB"], "max_gpus": 2}
        answer = recommend({"task": "inference", "model": HUNYUAN}, filters=filters)
        self.assertTrue(answer["workload"]["vae_tiling"])
        self.assertIn("vae_tiling", answer["workload"]["defaults"])
        self.assertEqual({i["plan"]["gpus"] for i in answer["recommendations"]}, {1, 2})
        for item in answer["recommendations"]:
            self.assertIn("tile by tile", text_of(item["reasons"], "vae_tiling"))
        whole = recommend({"task": "inference", "model": HUNYUAN, "vae_tiling": False}, filters=filters)
        self.assertFalse(whole["workload"]["vae_tiling"])
        self.assertGreater(whole["memory"]["phases"]["decode_bytes"], 1.3 * answer["memory"]["phases"]["decode_bytes"])

    def test_training_counts_samples(self):
        first = recommend({"task": "finetune", "method": "lora", "model": SDXL, "examples": 2000, "epochs": 5,
                           "global_batch": 8})["recommendations"][0]
        self.assertEqual((first["cost"]["basis"], first["cost"]["unit"]), ("run", "thousand_samples"))
        self.assertAlmostEqual(first["time"]["run_seconds"], 10000 / first["speed"]["items_per_hour"] * 3600,
                               delta=0.01 * first["time"]["run_seconds"])
        self.assertIn("samples a second", text_of(first["reasons"], "runs"))

    def test_fields_of_the_other_kind_are_refused(self):
        answer = service.post("/v1/recommendations", {"workload": {"task": "inference", "model": FLUX,
                                                                   "prompt_tokens": 100, "max_ttft_seconds": 1}})
        self.assertEqual(answer.status_code, 422)
        self.assertEqual({e["pointer"] for e in answer.json()["errors"]},
                         {"/workload/prompt_tokens", "/workload/max_ttft_seconds"})


if __name__ == "__main__":
    unittest.main()
