"""Cases of pipelines: pictures, video and sound that are denoised, made and trained for."""
from expert.asking import GIB, ask, card_gb, case, gpus, post, size, total

FLUX, SDXL = "black-forest-labs/FLUX.1-dev", "stabilityai/stable-diffusion-xl-base-1.0"
WAN, AUDIO = "Wan-AI/Wan2.1-T2V-14B-Diffusers", "stabilityai/stable-audio-open-1.0"
PHASES = ("encode_bytes", "denoise_bytes", "decode_bytes")


def make(model=FLUX, **rest):
    return dict({"task": "inference", "model": model}, **rest)


def teach(model=SDXL, method="lora", **rest):
    return dict({"task": "finetune", "model": model, "method": method}, **rest)


def resident(memory):
    return sum(memory[term] for term in ("weights_bytes", "text_encoders_bytes", "vae_bytes"))


@case("G1", "Pictures, video and sound are sized by component and phase; the highest phase counts")
def _(t):
    for model in (FLUX, SDXL, WAN, AUDIO):
        memory = size(make(model))
        t.assertEqual(max(memory["phases"][p] for p in PHASES), memory["allocated_bytes"], model)
        for term in ("weights_bytes", "text_encoders_bytes", "vae_bytes", "activations_bytes"):
            t.assertGreater(memory[term], 0, (model, term))
    # diffusers-torchao: 31.4 GiB after loading FLUX.1 in bf16.
    t.assertAlmostEqual(resident(size(make(FLUX))) / GIB, 31.4, delta=0.2)


@case("G1", "A pasted model_index.json with the config.json of its parts is the pipeline that the registry knows")
def _(t):
    pasted = {"_class_name": "StableDiffusionXLPipeline", "_diffusers_version": "0.19.0",
              "scheduler": ["diffusers", "EulerDiscreteScheduler"], "tokenizer": ["transformers", "CLIPTokenizer"],
              "text_encoder": {"model_type": "clip_text_model", "hidden_size": 768, "intermediate_size": 3072,
                               "num_attention_heads": 12, "num_hidden_layers": 12, "vocab_size": 49408},
              "text_encoder_2": {"model_type": "clip_text_model", "hidden_size": 1280, "intermediate_size": 5120,
                                 "num_attention_heads": 20, "num_hidden_layers": 32, "vocab_size": 49408,
                                 "projection_dim": 1280, "architectures": ["CLIPTextModelWithProjection"]},
              "unet": {"_class_name": "UNet2DConditionModel", "attention_head_dim": [5, 10, 20],
                       "block_out_channels": [320, 640, 1280], "cross_attention_dim": 2048, "layers_per_block": 2,
                       "down_block_types": ["DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"],
                       "projection_class_embeddings_input_dim": 2816, "transformer_layers_per_block": [1, 2, 10],
                       "use_linear_projection": True},
              "vae": {"_class_name": "AutoencoderKL", "block_out_channels": [128, 256, 512, 512],
                      "latent_channels": 4, "layers_per_block": 2, "scaling_factor": 0.13025, "sample_size": 1024}}
    known, read = size(make(SDXL)), size(make({"config": pasted}))
    for term in ("weights_bytes", "text_encoders_bytes", "vae_bytes"):
        t.assertEqual(read[term], known[term], term)
    t.assertAlmostEqual(read["activations_bytes"] / known["activations_bytes"], 1, delta=0.01)
    # A class alone tells no sizes.
    answer = post("/v1/sizing", {"workload": make({"config": dict(pasted, unet=["diffusers", "UNet2DConditionModel"])})})
    t.assertEqual(answer.status_code, 422)
    t.assertIn("/workload/model/config/unet", [e["pointer"] for e in answer.json()["errors"]])


@case("G1", "Memory is the limit of pictures: what does not fit 24 GB does so in 4 bits or with offload")
def _(t):
    whole = ask(make(FLUX, weight_format="bf16", items=1000))
    t.assertTrue(whole.items)
    t.assertFalse([i for i in whole.items if gpus(i) == 1 and card_gb(i) <= 24])
    bf16 = size(make(FLUX))["total_bytes"]
    t.assertGreater(bf16, 30 * GIB)
    steps = [size(make(FLUX, media_offload=way))["total_bytes"]
             for way in ("none", "model", "group", "sequential")]
    t.assertEqual(steps, sorted(steps, reverse=True))
    t.assertLess(steps[2], 16 * GIB)
    t.assertLess(size(make(FLUX, weight_format="nf4", text_encoder_format="nf4"))["total_bytes"], 20 * GIB)


@case("G1", "Video grows with its frames and its size, and tiling frees the decoder of both")
def _(t):
    small, long, large = (size(make(WAN, width=832, height=480, frames=33)),
                          size(make(WAN, width=832, height=480, frames=81)),
                          size(make(WAN, width=1280, height=720, frames=81)))
    for less, more in ((small, long), (long, large)):
        t.assertLess(less["phases"]["denoise_bytes"], more["phases"]["denoise_bytes"])
    tiled = size(make(WAN, vae_tiling=True))
    t.assertLess(tiled["phases"]["decode_bytes"], 0.8 * large["phases"]["decode_bytes"])
    seconds = post("/v1/sizing", {"workload": make(WAN, seconds=5)}).json()["workload"]
    t.assertEqual(seconds["frames"], 81)


@case("G1", "Teaching a model pictures: a LoRA keeps the base frozen, an average and an encoder cost their bytes")
def _(t):
    lora, full = size(teach(method="lora")), size(teach(method="full"))
    t.assertLess(lora["total_bytes"], full["total_bytes"] / 2)
    t.assertAlmostEqual(size(teach(method="full", ema=True))["master_weights_bytes"] -
                        full["master_weights_bytes"], 4 * 2567463684, delta=8)
    t.assertGreater(size(teach(method="full", train_text_encoder=True))["gradients_bytes"],
                    full["gradients_bytes"])
    t.assertEqual(size(teach(cached_latents=True, cached_embeddings=True))["text_encoders_bytes"], 0)
    word = size(teach(method="textual_inversion"))
    t.assertLess(word["adapters_bytes"], 10 ** 6)
    answer = post("/v1/sizing", {"workload": teach(method="prefix")})
    t.assertEqual([(e["pointer"], e["code"]) for e in answer.json()["errors"]],
                  [("/workload/method", "not_applicable")])


@case("G1", "A run of pictures has a price for all and for a thousand, and the first is the cheapest")
def _(t):
    answer = ask(make(SDXL, items=20000))
    prices = [total(i) for i in answer.items]
    t.assertTrue(prices)
    t.assertEqual(prices[0], min(prices))
    for item in answer.items:
        t.assertAlmostEqual(item["cost"]["usd_per_unit"] * 20, total(item), delta=0.02 * total(item))
