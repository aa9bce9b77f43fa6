/*
 * Launch: which tool serves which provider, under which names, and the provider's own command.
 *
 * SkyPilot: sky/clouds (cloud names, unsupported features) and skypilot-catalog v8 (machine
 * types and card names), read on 2026-08-20. dstack: core/models/backends/base.py (backends),
 * core/backends/<name>/compute.py (clusters, spot) at 511c318c; gpuhunt at 35841515 (machine and
 * card names). A provider that is in neither is rented at its own page.
 */
#include "core/launch_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_spot(const struct recommendation *item)
{
	return item->offer->price_kind == PRICE_SPOT;
}

static const char *type_word(struct text *out, const struct recommendation *item)
{
	const char *word = launch_shell(out->arena, item->offer->instance_type);

	return word ? word : "";
}

static const char *region_word(struct text *out, const struct recommendation *item)
{
	const char *word = launch_shell(out->arena, item->offer->region);

	return word ? word : "";
}

/* The image is AWS's own deep learning one, by the parameter under which AWS publishes its id. */
static bool aws(struct text *out, const struct recommendation *item, const char *name, int disk_gb)
{
	text_add(out,
		 "aws ec2 run-instances --region %s --instance-type %s --count %d \\\n"
		 "  --image-id resolve:ssm:/aws/service/deeplearning/ami/x86_64/"
		 "base-oss-nvidia-driver-gpu-ubuntu-22.04/latest/ami-id \\\n"
		 "  --key-name \"${KEY_NAME:?the name of your EC2 key pair}\" \\\n"
		 "  --block-device-mappings "
		 "'DeviceName=/dev/sda1,Ebs={VolumeSize=%d,VolumeType=gp3}' \\\n"
		 "  --tag-specifications 'ResourceType=instance,Tags=[{Key=Name,Value=%s}]'",
		 region_word(out, item), type_word(out, item), item->plan.layout.nodes, disk_gb,
		 name);
	if (*item->offer->zone) {
		const char *zone = launch_shell(out->arena, item->offer->zone);

		text_add(out, " \\\n  --placement AvailabilityZone=%s", zone ? zone : "");
	}
	text_add(out, "%s\n",
		 is_spot(item) ? " \\\n  --instance-market-options MarketType=spot" : "");
	return *item->offer->region != '\0';
}

static bool gcp(struct text *out, const struct recommendation *item, const char *name, int disk_gb)
{
	text_add(out, "gcloud compute instances create");
	for (int i = 1; i <= item->plan.layout.nodes; i++)
		text_add(out, " %s-%d", name, i);
	if (*item->offer->zone) {
		const char *zone = launch_shell(out->arena, item->offer->zone);

		text_add(out, " --zone %s", zone ? zone : "");
	} else {
		text_add(out, " --zone \"${ZONE:?a zone of %s that has the machine type}\"",
			 item->offer->region);
	}
	text_add(out,
		 " \\\n  --machine-type %s --maintenance-policy TERMINATE --boot-disk-size %dGB "
		 "\\\n  --image-family \"${IMAGE_FAMILY:?an image with GPU drivers}\" "
		 "--image-project \"${IMAGE_PROJECT:?the project that holds it}\"%s\n",
		 type_word(out, item), disk_gb,
		 is_spot(item) ? " \\\n  --provisioning-model SPOT "
				 "--instance-termination-action STOP"
			       : "");
	/* The region stands inside double quotes above. */
	return !item->offer->region[strcspn(item->offer->region, "\"$`\\}")];
}

static bool azure(struct text *out, const struct recommendation *item, const char *name,
		  int disk_gb)
{
	text_add(out,
		 "az vm create --resource-group \"${RESOURCE_GROUP:?your resource group}\" "
		 "--name %s --count %d \\\n  --location %s --size %s --image "
		 "microsoft-dsvm:ubuntu-hpc:2204:latest --os-disk-size-gb %d \\\n"
		 "  --admin-username azureuser --generate-ssh-keys%s\n",
		 name, item->plan.layout.nodes, region_word(out, item), type_word(out, item),
		 disk_gb,
		 is_spot(item) ? " --priority Spot --eviction-policy Deallocate --max-price -1"
			       : "");
	return *item->offer->region != '\0';
}

static bool lambda(struct text *out, const struct recommendation *item, const char *name,
		   int disk_gb)
{
	(void)disk_gb; /* comes with the machine */
	/* Both names stand inside JSON and single quotes: only plain ones are taken. */
	if (type_word(out, item) != item->offer->instance_type ||
	    region_word(out, item) != item->offer->region)
		return false;
	for (int i = 0; i < item->plan.layout.nodes; i++)
		text_add(out,
			 "curl --fail --user \"${LAMBDA_API_KEY:?}:\" "
			 "https://cloud.lambda.ai/api/v1/instance-operations/launch \\\n"
			 "  --json '{\"region_name\": \"%s\", \"instance_type_name\": \"%s\", "
			 "\"name\": \"%s\", \"ssh_key_names\": [\"'\"${SSH_KEY_NAME:?}\"'\"]}'\n",
			 item->offer->region, item->offer->instance_type, name);
	return true;
}

/* The command line takes no bids: a spot pod is rented at the page. */
static bool runpod(struct text *out, const struct recommendation *item, const char *name,
		   int disk_gb)
{
	if (is_spot(item) || item->plan.layout.nodes > 1 ||
	    item->offer->count_milli % COUNT_MILLI_ONE)
		return false;
	text_add(out,
		 "runpodctl create pod --name %s --gpuType %s --gpuCount %d %s \\\n"
		 "  --imageName \"${IMAGE:-runpod/base:1.0.2-ubuntu2204}\" "
		 "--containerDiskSize %d --volumeSize 0 --ports 22/tcp\n",
		 name, type_word(out, item), item->plan.layout.gpus_per_node,
		 strcmp(item->offer->tier, "community") == 0 ? "--communityCloud" : "--secureCloud",
		 disk_gb);
	return true;
}

static bool digitalocean(struct text *out, const struct recommendation *item, const char *name,
			 int disk_gb)
{
	(void)disk_gb; /* comes with the size */
	if (item->shape->accelerator->vendor != VENDOR_NVIDIA)
		return false; /* the images of other cards have names of their own */
	text_add(out, "doctl compute droplet create");
	for (int i = 1; i <= item->plan.layout.nodes; i++)
		text_add(out, " %s-%d", name, i);
	/* One image for eight GPUs and their switches, another for fewer. */
	text_add(out,
		 " --region %s --size %s --image %s --ssh-keys \"${SSH_KEY:?its fingerprint}\"\n",
		 region_word(out, item), type_word(out, item),
		 item->plan.layout.gpus_per_node == 8 ? "gpu-h100x8-base" : "gpu-h100x1-base");
	return *item->offer->region != '\0';
}

/* Live offers are named by their machine ("machine-123-2x"); the id to rent under lives for minutes
 * only, so it is looked up first. */
static bool vast(struct text *out, const struct recommendation *item, const char *name, int disk_gb)
{
	static const char prefix[] = "machine-";
	const char *type = item->offer->instance_type;
	int gpus = item->offer->count_milli / COUNT_MILLI_ONE;
	unsigned long machine;
	char printed[64];

	(void)name;
	if (item->plan.layout.nodes > 1 || strncmp(type, prefix, sizeof(prefix) - 1) != 0)
		return false;
	machine = strtoul(type + sizeof(prefix) - 1, NULL, 10);
	snprintf(printed, sizeof(printed), "%s%lu-%dx", prefix, machine, gpus);
	if (strcmp(printed, type) != 0)
		return false;
	text_add(out,
		 "vastai search offers 'machine_id=%lu num_gpus=%d rentable=true' --order "
		 "dph_total%s\n"
		 "vastai create instance \"${OFFER_ID:?the id that the search shows}\" "
		 "--image \"${IMAGE:-vastai/pytorch:latest}\" --disk %d --ssh --direct",
		 machine, gpus, is_spot(item) ? " --type bid" : "", disk_gb);
	if (is_spot(item))
		text_add(out, " --bid_price %.4f", usd_from_micros(item->offer->price_micros));
	text_add(out, "\n");
	return true;
}

static bool scaleway(struct text *out, const struct recommendation *item, const char *name,
		     int disk_gb)
{
	const char *zone = launch_shell(out->arena, item->offer->zone);

	(void)disk_gb;
	for (int i = 1; i <= item->plan.layout.nodes; i++)
		text_add(out,
			 "scw instance server create name=%s-%d zone=%s type=%s "
			 "image=ubuntu_jammy_gpu_os_12\n",
			 name, i, zone ? zone : "", type_word(out, item));
	return *item->offer->zone != '\0';
}

static bool linode(struct text *out, const struct recommendation *item, const char *name,
		   int disk_gb)
{
	(void)disk_gb;
	for (int i = 1; i <= item->plan.layout.nodes; i++)
		text_add(out,
			 "linode-cli linodes create --label %s-%d --region %s --type %s "
			 "--image linode/ubuntu24.04 --root_pass \"${ROOT_PASS:?}\"\n",
			 name, i, region_word(out, item), type_word(out, item));
	return *item->offer->region != '\0';
}

#define BIG (CAN_SPOT | CAN_NODES | CAN_PORTS | HAS_REGION | HAS_DISK)
#define NOT_SERVED                                                                                 \
	{                                                                                          \
		BY_NOTHING, NULL, 0                                                                \
	}
#define NO_NAME(provider)                                                                          \
	{                                                                                          \
		BY_NOTHING, provider, 0                                                            \
	}

/* provider; SkyPilot: how, cloud, what it can; dstack: how, backend, what it can; command */
static const struct launch_provider table[] = {
	{"aws", {BY_TYPE, "aws", BIG | HAS_ZONE}, {BY_TYPE, "aws", BIG}, aws},
	{"azure", {BY_TYPE, "azure", BIG}, {BY_TYPE, "azure", BIG}, azure},
	{"cloudrift", NOT_SERVED, {BY_ACCELERATOR, "cloudrift", CAN_PORTS}, NULL},
	{"crusoe", NOT_SERVED, {BY_ACCELERATOR, "crusoe", CAN_NODES | CAN_PORTS}, NULL},
	{"cudo", NO_NAME("cudo"), NO_NAME("cudo"), NULL},
	{"digitalocean",
	 {BY_TYPE, "do", CAN_PORTS | HAS_REGION},
	 {BY_TYPE, "digitalocean", CAN_PORTS | HAS_REGION},
	 digitalocean},
	{"fluidstack", NO_NAME("fluidstack"), NOT_SERVED, NULL},
	/* SkyPilot refuses an accelerator-optimised type without its card, and the other way. */
	{"gcp", {BY_BOTH, "gcp", BIG | HAS_ZONE}, {BY_TYPE, "gcp", BIG}, gcp},
	{"hotaisle", NOT_SERVED, {BY_ACCELERATOR, "hotaisle", CAN_PORTS}, NULL},
	{"hyperbolic", NO_NAME("hyperbolic"), NOT_SERVED, NULL},
	{"ibm", NO_NAME("ibm"), NOT_SERVED, NULL},
	{"jarvislabs", NO_NAME("jarvislabs"), {BY_ACCELERATOR, "jarvislabs", CAN_PORTS}, NULL},
	{"lambda",
	 {BY_TYPE, "lambda", CAN_NODES | CAN_PORTS | HAS_REGION},
	 {BY_TYPE, "lambda", CAN_PORTS | HAS_REGION},
	 lambda},
	{"linode", NOT_SERVED, NOT_SERVED, linode},
	{"mithril", NO_NAME("mithril"), NOT_SERVED, NULL},
	{"nebius", {BY_TYPE, "nebius", BIG}, {BY_TYPE, "nebius", BIG}, NULL},
	{"oci", NO_NAME("oci"), {BY_TYPE, "oci", CAN_NODES | CAN_PORTS | HAS_DISK}, NULL},
	{"paperspace", NO_NAME("paperspace"), NOT_SERVED, NULL},
	{"primeintellect", NO_NAME("primeintellect"), NOT_SERVED, NULL},
	{"runpod",
	 {BY_ACCELERATOR, "runpod", CAN_PORTS | CAN_SPOT | HAS_COUNTRY | HAS_DISK},
	 {BY_TYPE, "runpod", CAN_SPOT | CAN_PORTS | HAS_REGION | HAS_DISK},
	 runpod},
	{"scaleway", NOT_SERVED, NOT_SERVED, scaleway},
	{"seeweb", NO_NAME("seeweb"), NOT_SERVED, NULL},
	{"shadeform", {BY_TYPE, "shadeform", HAS_REGION}, NOT_SERVED, NULL},
	{"tensordock", NOT_SERVED, NO_NAME("tensordock"), NULL},
	/* SkyPilot's types of it name no single machine; dstack's regions are towns. */
	{"vast", NO_NAME("vast"), {BY_ACCELERATOR, "vastai", CAN_SPOT | CAN_PORTS}, vast},
	{"verda",
	 {BY_TYPE, "verda", CAN_SPOT | HAS_REGION | HAS_DISK},
	 {BY_TYPE, "verda", CAN_SPOT | CAN_PORTS | HAS_REGION | HAS_DISK},
	 NULL},
	{"vultr", NOT_SERVED, {BY_TYPE, "vultr", CAN_NODES | CAN_PORTS | HAS_REGION}, NULL},
};

const struct launch_provider *launch_provider_find(const char *provider)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (strcmp(table[i].provider, provider) == 0)
			return &table[i];
	return NULL;
}
