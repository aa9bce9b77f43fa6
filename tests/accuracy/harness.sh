#!/usr/bin/env bash
# What the harness does with tables that it is not given, cannot read, or that hold rows it must leave out; and
# that enough rows must be compared. usage: harness.sh PROGRAM
set -u
program=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
faults=0

# expect STATUS PATTERN [option ...]: the exit status, and a line of what is printed
expect() {
	local status=$1 pattern=$2
	shift 2
	"$program" "$@" >"$folder/out" 2>&1
	local got=$?
	if [ $got -ne "$status" ] || ! grep -qE -- "$pattern" "$folder/out"; then
		echo "accuracy $*: status $got (wanted $status), /$pattern/ in:"
		cat "$folder/out"
		faults=$((faults + 1))
	fi
}

head='id,kind,model,gpu,gpus,parallelism,seq_len,micro_batch_per_gpu,weight_dtype,checkpointing,optimizer,metric,measured_value,measured_unit,source,quality'
rows() {
	echo "$head"
	local id=0
	for row in "$@"; do
		id=$((id + 1))
		echo "r$id,$row"
	done
}
model=meta-llama/Llama-2-7b-hf
good="train_full,$model,A100 SXM4 80GB,1,,512,1,bf16,full,adamw,peak reserved,60,GiB,someone,measured"
rows "$good" "${good/512/}" "${good/measured/claim}" "${good/peak reserved/buffers}" "${good/adamw/apollo}" >"$folder/memory.csv"
rows "$good" "${good/adamw/apollo}" >"$folder/few.csv"
rows >"$folder/empty.csv"
# A card that nobody knows, with a budget of cache that depends on it; degrees that are none; a table of elsewhere.
cache="serve_kv,$model,Zorg 9000,1,,512,,bf16,,,KV cache memory,60,GiB,someone,measured"
rows "$cache" "${cache/Zorg 9000/H100 SXM5 80GB}" >"$folder/card.csv"
rows "${good/,1,,512/,0,tp=0,512}" "${good/,1,,512/,1e30,pp=-3,512}" "${good/,1,,512/,1,,1e30}" >"$folder/degrees.csv"
cat >"$folder/speed.csv" <<'TABLE'
id,kind,source,quality,model,params_total,params_active,layers,hidden,heads,kv_heads,ffn,vocab,gpu,gpus,nodes,interconnect,tp,pp,dp,cp,ep,weight_dtype,compute_dtype,kv_dtype,seq_len_or_isl_osl,micro_batch,global_batch_or_concurrency,checkpointing,metric,measured_value,software_version,notes
a,serve_throughput,someone,measured,meta-llama/Llama-2-7b-hf,,,,,,,,,A100 SXM4 80GB,0,0,,0,0,-1,0,0,bf16,bf16,,128/128,,8,,output tok/s,500,vLLM 0.6,
b,pretrain,someone,measured,meta-llama/Llama-2-7b-hf,,,,,,,,,A100 SXM4 80GB,8,0,,0,0,-1,0,0,bf16,bf16,,2048,0,64,full,tokens/s/gpu,3000,FSDP,
TABLE
# A kind that both tables have is two kinds, and hardware that is not rented counts for neither.
rows "audio,openai/whisper-large-v2,RTX 3070 Ti 8GB,1,,,1,fp16,,,\"VRAM usage (max, nvidia-smi style)\",4708,MB,someone,measured" \
	"audio,openai/whisper-tiny,,1,,,,fp16,,,stated,1,GB,someone,vendor_stated" >"$folder/heard.csv"
{
	head -1 "$folder/speed.csv"
	echo 'a,audio,someone,measured,whisper-large-v2,1540000000,,,,,,,,A100 80GB,1,1,,,,,,,fp16,fp16,,,,1,,s_for_9000s_audio,563,faster-whisper beam1,'
	echo 'b,audio,someone,measured,whisper-large-v2,1540000000,,,,,,,,Apple M2 Ultra,1,1,,,,,,,f16,f16,,,,1,,ms_encode_per_30s_window,170,whisper.cpp,'
} >"$folder/heard_speed.csv"

expect 0 '^usage: ' --help
expect 2 '^usage: ' --no-such-option
expect 77 '^no measurements'
expect 0 '"kind": "audio", "table": "memory", "rows": 2, "suffice": 1, "used": 1' --memory "$folder/heard.csv" --json
expect 0 '"kind": "audio", "table": "throughput", "rows": 2, "suffice": 1, "used": 1' --throughput "$folder/heard_speed.csv" --json
expect 1 'cannot read ' --memory "$folder/none.csv"
expect 0 'empty.csv: no rows' --memory "$folder/empty.csv"
expect 0 'memory.csv: no row of kind serve_kv' --memory "$folder/memory.csv"
# Five rows: one compared; length missing and a claim do not count; a counter and a method unknown here do.
expect 0 '"kind": "train_full", .*"rows": 5, "suffice": 3, "used": 1, "used_share": 33.333' --memory "$folder/memory.csv" --json
expect 0 '"id": "r2", "reason": "[^"]+", "class": "columns_insufficient"' --memory "$folder/memory.csv" --json
expect 0 '"id": "r3", "reason": "a claim[^"]+", "class": "not_a_measurement"' --memory "$folder/memory.csv" --json
expect 0 '"id": "r4", "reason": "[^"]+", "class": "not_offered"' --memory "$folder/memory.csv" --json
expect 0 '"id": "r5", "reason": "[^"]+", "class": "not_offered"' --memory "$folder/memory.csv" --json
expect 0 '"kind": "serve_kv", .*"rows": 2, .*"used": 1,' --memory "$folder/card.csv" --json
expect 0 '"kind": "train_full", .*"rows": 3,' --memory "$folder/degrees.csv" --json
expect 0 '"kind": "serve_throughput", .*"rows": 1,' --throughput "$folder/speed.csv" --json
expect 1 '1 of 2 rows whose columns suffice are compared: under 85 %' --memory "$folder/few.csv" --check
[ $faults -eq 0 ]
