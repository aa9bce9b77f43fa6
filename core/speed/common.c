/* Speed, the common part: what depends on the workload alone, and how a phase is summed up. */
#include "core/speed/internal.h"

#include "core/accuracy.h"
#include "core/memory.h"

#include <math.h>

static const char *const bottleneck_text[BOTTLENECKS] = {
	[BOTTLENECK_COMPUTE] = "compute",
	[BOTTLENECK_MEMORY_BANDWIDTH] = "memory_bandwidth",
	[BOTTLENECK_COMMUNICATION] = "communication",
	[BOTTLENECK_OVERHEAD] = "overhead",
	[BOTTLENECK_DATA_LOADING] = "data_loading",
};

const struct names bottleneck_names = {bottleneck_text, BOTTLENECKS};

/* Tokens that kernels without fused attention score each token against: all, masked or not. */
static double scored_tokens(const struct workload *workload, const struct layer_kind *kind)
{
	double length = (double)workload->sequence_length;

	return kind->window ? fmin(kind->window, length) : length;
}

/* Bytes that norms, activations, rotations and routing of one token move forward, fused as well as
 * current kernels do: about twice what they would have to save. */
static void prepare_traffic(const struct workload *workload, struct speed_basis *basis)
{
	const struct architecture *architecture = workload->architecture;
	bool is_serving = workload->task == TASK_INFERENCE;
	bool has_source = architecture_has_source(architecture);

	basis->latent_factor = 1;
	basis->cache_split = fmax(1, architecture_kv_heads_divisor(architecture));
	for (int i = 0; i < architecture->kinds_count; i++) {
		const struct layer_kind *kind = &architecture->kinds[i];
		double hidden = architecture->hidden,
		       chosen = kind->experts ? kind->experts_active : 0;
		double heads = (double)kind->heads * kind->head_dim,
		       width = (double)kind->ffn + kind->shared_ffn;
		double passed =
			kind->count * (is_serving ? 1 : workload_token_share(workload, kind));
		double halves = layer_blocks(kind) / 2.0;
		double bytes =
			2 * (10 * halves * hidden + 4 * heads + (kind->gated ? 4 : 3) * width +
			     chosen * (6 * hidden + 4.0 * kind->moe_ffn));

		basis->token_layers += passed * halves;
		basis->routed_elements += passed * chosen * hidden;
		basis->experts_chosen = fmax(basis->experts_chosen, chosen);
		basis->expert_flops += passed * 2 * chosen * (kind->gated ? 3 : 2) * kind->moe_ffn *
				       (kind->moe_hidden ? kind->moe_hidden : hidden);
		if (kind->attention == ATTENTION_LATENT) {
			basis->has_latent = true;
			basis->latent_factor =
				(2.0 * kind->kv_rank + kind->rope_dim) /
				(kind->nope_dim + kind->rope_dim + layer_value_dim(kind));
		}
		if (kind->experts && kind->moe_ffn >= basis->expert_width) {
			basis->expert_width = kind->moe_ffn;
			basis->expert_chance = chosen / kind->experts;
		}
		if (kind->attention != ATTENTION_NONE)
			basis->score_elements +=
				passed * kind->heads * scored_tokens(workload, kind);
		if (!is_serving || !has_source || !kind->is_encoder)
			basis->traffic_bytes += passed * bytes;
		if (!has_source || kind->is_encoder) {
			basis->prompt_layers += kind->count * halves;
			basis->prompt_traffic_bytes += kind->count * bytes;
		}
	}
	if (has_source)
		basis->prompt_weights =
			architecture_sequence_flops(architecture, 1, 0).matrices / 2;
}

/* What attention takes at the lengths of the workload. */
static void prepare_context(const struct workload *workload, struct speed_basis *basis)
{
	const struct architecture *architecture = workload->architecture;
	bool has_source = architecture_has_source(architecture);
	double length = (double)workload->sequence_length, half_way;
	double tokens = workload_sequence_tokens(workload);
	struct sequence_flops flops;

	if (workload->task == TASK_INFERENCE) {
		length = workload->prompt;
		flops = architecture_sequence_flops(architecture, length, 0);
		half_way = (has_source ? 0 : length) + fmax(1, (double)workload->output_tokens) / 2;
		basis->linear_flops = architecture_forward_flops(architecture, 0);
		basis->decode_flops = architecture_forward_flops(architecture, half_way);
		basis->cross_elements =
			length * architecture_cross_elements_per_source_token(architecture);
		basis->cache_elements =
			architecture_kv_elements(architecture, half_way) + basis->cross_elements;
		basis->tower_flops =
			2 * (double)architecture->tower_parameters * workload->tower_patches;
		basis->tower_attention = 4.0 * architecture->tower_layers *
					 architecture->tower_hidden * workload->tower_patches *
					 workload->tower_span;
		basis->prompt_flops = flops.matrices / length;
		/* A prompt is asked for its next token alone. */
		if (!has_source && architecture->modality != MODALITY_EMBEDDING)
			basis->prompt_head_flops = architecture_head_flops(architecture) / length;
		basis->prompt_flops += basis->prompt_head_flops;
		basis->pass_attention = flops.attention / length;
		return;
	}
	basis->scored_share = workload_scored_share(workload);
	flops = architecture_sequence_flops(architecture, length, tokens - length);
	basis->linear_flops = flops.matrices / tokens +
			      basis->scored_share * architecture_head_flops(architecture);
	basis->pass_attention = flops.attention / tokens;
}

/* Experts that a token does not choose have adapters that it does not pass. */
static double adapter_sides(const struct workload *workload)
{
	const struct architecture *architecture = workload->architecture;
	double sides;

	if (workload->task != TASK_FINETUNE || workload->lora_rank <= 0 ||
	    (workload->method != METHOD_LORA && workload->method != METHOD_QLORA))
		return 0;
	sides = memory_adapter_parameters(workload) / (double)workload->lora_rank;
	for (int i = 0; i < architecture->kinds_count; i++) {
		const struct layer_kind *kind = &architecture->kinds[i];
		double idle = kind->experts ? kind->experts - kind->experts_active : 0;

		if (workload->lora_targets == LORA_ALL_LINEAR || workload->lora_targets == LORA_MLP)
			sides -= kind->count * idle * (kind->gated ? 3 : 2) *
				 ((double)architecture->hidden + kind->moe_ffn);
	}
	return sides;
}

void speed_prepare_work(const struct workload *workload, struct speed_basis *basis)
{
	*basis = (struct speed_basis){.workload = workload};
	architecture_count(workload->architecture, &basis->parameters);
	basis->layers = architecture_layers(workload->architecture);
	basis->experts = architecture_experts(workload->architecture);
	basis->accuracy = accuracy_of_speed(workload);
	if (workload->architecture->media) {
		speed_media_prepare(basis);
		return;
	}
	prepare_context(workload, basis);
	prepare_traffic(workload, basis);
	basis->adapter_sides = adapter_sides(workload);
}

bool speed_prepare(const struct workload *workload, const struct accelerator *accelerator,
		   enum format weight_format, struct speed_basis *basis)
{
	speed_prepare_work(workload, basis);
	return speed_prepare_card(basis, accelerator, weight_format,
				  architecture_weight_bytes(workload->architecture, weight_format));
}

/* Which resource takes longest. Overhead adds to the others, so it wins only by its own size. */
void speed_phase_close(struct speed_phase *phase)
{
	double most = phase->compute_seconds;

	phase->bottleneck = BOTTLENECK_COMPUTE;
	if (phase->memory_seconds > most) {
		most = phase->memory_seconds;
		phase->bottleneck = BOTTLENECK_MEMORY_BANDWIDTH;
	}
	if (phase->communication_seconds > most) {
		most = phase->communication_seconds;
		phase->bottleneck = BOTTLENECK_COMMUNICATION;
	}
	if (phase->overhead_seconds > most)
		phase->bottleneck = BOTTLENECK_OVERHEAD;
}

double speed_least_seconds(const struct speed_basis *basis, double cache_bits)
{
	if (basis->workload->architecture->media)
		return speed_media_least(basis);
	if (basis->workload->task == TASK_INFERENCE)
		return speed_least_serving(basis, cache_bits);
	return speed_least_training(basis);
}

static void start_estimate(const struct speed_basis *basis, struct speed_estimate *out)
{
	const struct accuracy *accuracy = basis->accuracy;
	double spread = basis->workload->architecture->uncertainty;

	*out = (struct speed_estimate){0};
	/* A speed that measured high is a time that is short. */
	out->low_factor = 1 / (accuracy->high + spread);
	out->high_factor = 1 / fmax(0.05, accuracy->low - spread);
}

void speed_estimate_load(const struct speed_basis *basis, const struct layout *layout,
			 const struct fabric *fabric, struct speed_copy *copy,
			 struct speed_estimate *out)
{
	start_estimate(basis, out);
	speed_serving(basis, layout, fabric, copy, out);
}

void speed_estimate(const struct speed_basis *basis, const struct layout *layout,
		    const struct fabric *fabric, struct speed_estimate *out)
{
	start_estimate(basis, out);
	if (basis->workload->architecture->media) {
		if (basis->workload->task == TASK_INFERENCE)
			speed_media_serving(basis, layout, fabric, out);
		else
			speed_media_training(basis, layout, fabric, out);
	} else if (basis->workload->task == TASK_INFERENCE) {
		struct speed_copy copy = {0};

		speed_serving(basis, layout, fabric, &copy, out);
	} else {
		speed_training(basis, layout, fabric, out);
	}
}
