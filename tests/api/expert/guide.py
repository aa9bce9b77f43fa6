"""What the product's users are told (guides.md): its lines and what each demands.

A case names the demands that it shows; test_expert.py fails when one has no case, and, where
../shared is there, when the lines of guides.md are not these.
"""

# Lines in the order of guides.md: section, a word that only that line has, its demands.
LINES = [
    ("Training", "Adam's momentum", {
        "T1a": "training holds weights, gradients, optimiser states and activations at once",
        "T1b": "Adam's two states weigh two to three times the weights",
        "T1c": "a card that serves a model with ease can run out when tuning it"}),
    ("Training", "first gate", {
        "T2a": "memory decides first, before price",
        "T2b": "short of memory, recomputation, offload and sharding are forced",
        "T2c": "room to spare, not just enough"}),
    ("Training", "peak FLOPS", {
        "T3": "bandwidth often counts for more than peak FLOPS"}),
    ("Training", "Precision is speed", {
        "T4a": "fewer bits are faster, fp8 on the newest cards",
        "T4b": "bf16 is preferred; a card without it is warned about"}),
    ("Training", "gradient exchange", {
        "T5a": "NVLink in a node; boxes on PCIe alone stall on gradients",
        "T5b": "a real fabric between nodes"}),
    ("Training", "One GPU is enough", {
        "T6a": "one GPU for small models, adapters and experiments",
        "T6b": "a node for full fine-tunes",
        "T6c": "a cluster for large pre-training, with several kinds of parallelism"}),
    ("Training", "rest of the rental", {
        "T7a": "storage that feeds the pipeline",
        "T7b": "spot throws progress away without frequent checkpoints",
        "T7c": "volumes that persist",
        "T7d": "coarse billing punishes short work",
        "T7e": "many cards or nodes are scarcer: confirm them first"}),
    ("Training", "order of the decision", {
        "T8a": "memory, then topology, only then price",
        "T8b": "a dearer machine often ends sooner and costs less in all"}),
    ("Training", "live table is the truth", {
        "T9": "prices move and differ by provider: the table is the truth"}),
    ("LLM fine-tuning", "Memory, not teraflops", {
        "F1a": "the method decides how much memory",
        "F1b": "QLoRA fits one card where a full fine-tune needs a node",
        "F1c": "adapters and prefixes take far less"}),
    ("LLM fine-tuning", "sweet spot", {
        "F2a": "one large-memory card for adapters on middle sizes",
        "F2b": "NVLink nodes for sharded full fine-tunes",
        "F2c": "consumer cards for small models and QLoRA, the wrong choice beyond one card"}),
    ("LLM fine-tuning", "slow paths", {
        "F3": "support for the format; older hardware falls back to slow paths"}),
    ("LLM fine-tuning", "survives a stop", {
        "F4a": "storage that survives a stop, and what it costs meanwhile",
        "F4b": "egress costs",
        "F4c": "with checkpoints an interruption costs minutes",
        "F4d": "fine billing for stop-and-start work",
        "F4e": "control of the environment",
        "F4f": "proof of a fabric for large full fine-tunes"}),
    ("LLM fine-tuning", "rent differently", {
        "F5a": "on demand for the run that must not stop, spot for experiments",
        "F5b": "an older large-memory card is often the better cost"}),
    ("Generative AI", "diffusion", {
        "G1": "language, image, audio and multimodal models; memory is the limit"}),
    ("Generative AI", "24 GB card", {
        "G2a": "7-13B quantised on 24 GB",
        "G2b": "middle sizes or full precision on 48 GB",
        "G2c": "70B on 80 GB or several cards"}),
    ("Generative AI", "streams the weights", {
        "G3a": "bandwidth sets tokens a second: HBM outruns GDDR",
        "G3b": "slow while idle is bandwidth-bound, and has three cures"}),
    ("Generative AI", "size on weights alone", {
        "G4a": "the cache grows with context and can equal the weights",
        "G4b": "int8 and fp8 fit more",
        "G4c": "most bandwidth per dollar",
        "G4d": "one fast GPU a replica for latency"}),
    ("Generative AI", "fp8 and int8 support", {
        "G5a": "fp8 and int8 hardware makes a difference",
        "G5b": "NVLink only when a model spans cards; PCIe holds tensor parallelism back",
        "G5c": "one fast card is cheaper than a box that stands half idle"}),
    ("Generative AI", "Pre-training adds", {
        "G6a": "QLoRA brings large models to one card of 24 to 48 GB",
        "G6b": "full fine-tuning asks for 80 GB cards or NVLink nodes",
        "G6c": "pre-training: shared storage, cluster links, fp8-class cards",
        "G6d": "committed capacity for pre-training"}),
    ("Generative AI", "Bursty work", {
        "G7a": "fine billing and a quick stop for bursty work",
        "G7b": "spot for tolerant batches, never for an always-on endpoint",
        "G7c": "storage and transfer count, checkpoints pile up"}),
]

DEMANDS = {name: text for _, _, demands in LINES for name, text in demands.items()}
