// A small client of the generated types: that it compiles shows that the contract makes a usable one (lint.sh runs tsc).
import type {components, operations, paths} from "./schema";

type Workload = components["schemas"]["Workload"];
type Request = paths["/v1/recommendations"]["post"]["requestBody"]["content"]["application/json"];
type Answer = paths["/v1/recommendations"]["post"]["responses"]["200"]["content"]["application/json"];
type Prices = paths["/v1/prices"]["get"]["responses"]["200"]["content"]["application/json"];
type Page = Extract<Prices, {items: unknown}>;
type Offer = Page["items"][number];
type Query = NonNullable<operations["listPrices"]["parameters"]["query"]>;
type Problem = components["schemas"]["Problem"];

export class Refused extends Error {
	constructor(readonly problem: Problem) {
		super(problem.detail);
	}
}

async function ask<Body>(url: string, init?: RequestInit): Promise<Body> {
	const answer = await fetch(url, init);
	if (!answer.ok) throw new Refused((await answer.json()) as Problem);
	return (await answer.json()) as Body;
}

export function recommend(base: string, request: Request): Promise<Answer> {
	return ask<Answer>(base + "/v1/recommendations", {
		method: "POST",
		headers: {"Content-Type": "application/json"},
		body: JSON.stringify(request),
	});
}

// Every page of the price table, by following `next`.
export async function* prices(base: string, query: Query): AsyncGenerator<Offer> {
	const texts = Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]);
	let next: string | null = "?" + new URLSearchParams(texts);
	while (next !== null) {
		const page: Prices = await ask<Prices>(base + "/v1/prices" + next);
		if (!("items" in page)) return; // a delta, which only `since` asks for
		yield* page.items;
		next = page.next;
	}
}

export async function main(): Promise<void> {
	const base = "http://127.0.0.1:8080";
	const workload: Workload = {task: "finetune", method: "qlora", model: "meta-llama/Llama-3.1-8B", tokens_per_epoch: 1e7, epochs: 2};
	const answer = await recommend(base, {workload, objective: "total_cost", constraints: {deadline_hours: 24}, limit: 3});
	for (const one of answer.recommendations) {
		const dollars: number | null = one.cost.total_usd;
		console.log(one.rank, one.offer.provider, one.offer.accelerator, dollars ?? "unknown", one.fit);
	}
	for (const left_out of answer.excluded) console.log(left_out.reason, left_out.offers);
	for await (const offer of prices(base, {accelerator: "H100", sort: "usd_per_gpu_hour", limit: 100})) {
		console.log(offer.id, offer.usd_per_gpu_hour ?? "unknown");
	}

	// @ts-expect-error: a misspelled field is caught before it is sent.
	await recommend(base, {workload: {task: "inference", model: "x", precison: "bf16"}});
	// @ts-expect-error: so is a value that is not of the list.
	await recommend(base, {workload: {task: "serve", model: "x"}});
	// @ts-expect-error: and a price may be unknown.
	const certain: number = answer.recommendations[0]!.offer.usd_per_hour;
	void certain;
}
