"""Cases of speech, music and pictures: what is heard, said and seen."""
from expert.asking import ask, case, codes, gpus, post, size, text, total

WHISPER, TURBO = "openai/whisper-large-v3", "openai/whisper-large-v3-turbo"
MUSIC, SPEECH = "facebook/musicgen-large", "canopylabs/orpheus-3b-0.1-ft"
VISION = "Qwen/Qwen2.5-VL-7B-Instruct"
HOURS = 2000


def hear(model=WHISPER, **rest):
    rest.setdefault("mode", "batch")
    return dict({"task": "inference", "model": model}, **rest)


def see(model=VISION, **rest):
    rest.setdefault("prompt_tokens", 200)
    rest.setdefault("output_tokens", 200)
    return dict({"task": "inference", "model": model}, **rest)


def audio_hour(item):
    assert item["cost"]["unit"] == "audio_hour"
    return item["cost"]["usd_per_unit"]


@case("G1", "Thousands of hours of speech are priced by the hour of audio, and one small card does it for least")
def _(t):
    answer = ask(hear(audio_hours=HOURS))
    first = answer.first
    t.assertEqual(first["cost"]["basis"], "run")
    t.assertAlmostEqual(audio_hour(first) * HOURS, total(first), delta=0.001 * HOURS)
    t.assertEqual(gpus(first), 1)
    t.assertIn("sound", codes(first))
    for item in answer.items:
        t.assertGreaterEqual(audio_hour(item), audio_hour(first))
    # Any card of today hears faster than people speak, many times over.
    t.assertGreater(min(i["speed"]["audio_seconds_per_second"] for i in answer.items), 20)
    large = [i for i in answer.items if i["offer"]["accelerator"].startswith("B200")]
    t.assertTrue(large and all(audio_hour(i) > audio_hour(first) for i in large))


@case("G1", "By hand: no card transcribes faster than its arithmetic and its memory let it")
def _(t):
    # A window of 30 s: 1,500 positions through 637M weights, and per token keys and values of 246 MB.
    answer = ask(hear(audio_hours=HOURS, weight_format="fp16", kv_format="fp16"))
    for card, flops, bandwidth in (("L4 24GB", 121e12, 300e9), ("L40S 48GB", 362e12, 864e9)):
        for item in answer.on(card):
            windows = item["speed"]["audio_seconds_per_second"] / 30 / gpus(item)
            t.assertLess(windows, 1 / (2 * 637e6 * 1500 / flops + 96 * 246e6 / bandwidth))
            t.assertGreater(windows, 0.2 / (2 * 637e6 * 1500 / flops + 96 * 246e6 / bandwidth))


@case("G1", "A smaller decoder transcribes for less; a long file costs as much as its windows")
def _(t):
    large, turbo = (ask(hear(model, audio_hours=HOURS)).first for model in (WHISPER, TURBO))
    t.assertLess(audio_hour(turbo), 0.7 * audio_hour(large))
    whole = ask(hear(audio_hours=HOURS, seconds=3600))
    t.assertEqual(whole.body["workload"]["windows"], 120)
    t.assertAlmostEqual(audio_hour(whole.first), audio_hour(large), delta=0.05 * audio_hour(large))


@case("G1", "A search over five beams takes memory and money, and greedy decoding is offered in its place")
def _(t):
    many = 100 * HOURS  # dear enough to look for another way
    wide = ask(hear(audio_hours=many, engine="ctranslate2", beams=5, concurrency=8))
    greedy = ask(hear(audio_hours=many, engine="ctranslate2", concurrency=8))
    t.assertGreater(wide.memory["kv_cache_bytes"], 1.1 * greedy.memory["kv_cache_bytes"])
    t.assertGreater(audio_hour(wide.first), 1.3 * audio_hour(greedy.first))
    t.assertTrue(wide.remedy("one_beam"))
    t.assertIsNone(greedy.remedy("one_beam"))
    half = size(hear(engine="ctranslate2", weight_format="int8"))["weights_bytes"]
    t.assertLess(half, 0.6 * size(hear(engine="ctranslate2", weight_format="fp16"))["weights_bytes"])


@case("G1", "Music takes longer than it lasts where the host drives each step; speech by a language model does not")
def _(t):
    music = ask({"task": "inference", "model": MUSIC, "seconds": 30, "concurrency": 1})
    t.assertEqual(music.body["workload"]["output_tokens"], 1503)
    t.assertGreater(music.first["speed"]["real_time_factor"], 1)
    t.assertEqual(music.first["speed"]["bottleneck"], "overhead")
    speech = ask({"task": "inference", "model": SPEECH, "seconds": 30, "concurrency": 1})
    t.assertLess(min(i["speed"]["real_time_factor"] for i in speech.items), 0.8)
    for answer in (music, speech):
        t.assertGreater(audio_hour(answer.first), 0)


@case("G1", "High-resolution images dominate the cache, and smaller ones mend it")
def _(t):
    photo = {"images_per_request": 4, "width": 1920, "height": 1080}
    large = ask(see(**photo))
    workload = large.body["workload"]
    t.assertEqual(workload["media_tokens"], 4 * 69 * 39)
    t.assertGreater(workload["media_share_of_context"], 0.95)
    t.assertIn("media_tokens", codes(large.first))
    t.assertIn("pictures", text(large.first, "media_tokens"))
    plain = size(see())["kv_cache_bytes"]
    t.assertGreater(large.memory["kv_cache_bytes"], 20 * plain)
    small = size(see(images_per_request=4, width=960, height=540))["kv_cache_bytes"]
    t.assertLess(small, 0.35 * large.memory["kv_cache_bytes"])
    # So many at once that no single small card holds them.
    crowd = ask(see(mode="batch", concurrency=96, **photo), constraints={"max_nodes": 1},
                filters={"accelerators": ["RTX 4090 24GB", "L4 24GB"], "max_gpus": 1})
    t.assertFalse(crowd.items)
    t.assertTrue(crowd.remedy("smaller_images"))


@case("G1", "By hand: the tower's time is its weights times the patches that it sees")
def _(t):
    item = ask(see(images_per_request=1, width=2240, height=2240, concurrency=1)).one("L40S 48GB", 1)
    patches = 160 * 160
    least = 2 * 0.6e9 * patches / 362e12
    t.assertGreater(item["speed"]["tower_seconds"], least)
    t.assertLess(item["speed"]["tower_seconds"], 20 * least)
    t.assertLess(item["speed"]["tower_seconds"], item["speed"]["ttft_seconds"])


@case("G1", "Families count pictures by their own rules: some keep a size, some cut tiles, some follow the pixels")
def _(t):
    def tokens(model, width, height):
        answer = post("/v1/sizing", {"workload": see(model, images_per_request=1, width=width,
                                                     height=height)})
        t.assertEqual(answer.status_code, 200, answer.text)
        return answer.json()["workload"]["media_tokens"]
    t.assertEqual(tokens("google/gemma-3-12b-it", 4000, 3000), 256)
    t.assertEqual(tokens("OpenGVLab/InternVL3-8B", 448, 448), 256)
    t.assertEqual(tokens("OpenGVLab/InternVL3-8B", 1920, 1080), 9 * 256)
    t.assertEqual(tokens("openbmb/MiniCPM-V-2_6", 1344, 1344), 640)
    t.assertEqual(tokens("mistral-community/pixtral-12b", 1024, 1024), 64 * 64 + 64)


@case("G1", "A pasted configuration of a speech model is the model")
def _(t):
    pasted = {"model_type": "whisper", "d_model": 1280, "encoder_layers": 32, "decoder_layers": 32,
              "encoder_attention_heads": 20, "decoder_attention_heads": 20, "encoder_ffn_dim": 5120,
              "decoder_ffn_dim": 5120, "num_mel_bins": 128, "vocab_size": 51866, "torch_dtype": "float16"}
    t.assertEqual(size(hear({"config": pasted})), size(hear()))


@case("G1", "What a model cannot hear or see is refused, each field by name")
def _(t):
    for workload, fields in ((see("meta-llama/Llama-3.1-8B", images_per_request=2, seconds=3),
                              {"images_per_request", "seconds"}),
                             (hear(prompt_tokens=5, width=64), {"prompt_tokens", "width"})):
        answer = post("/v1/recommendations", {"workload": workload})
        t.assertEqual(answer.status_code, 422)
        t.assertEqual({e["pointer"].split("/")[-1] for e in answer.json()["errors"]}, fields)
