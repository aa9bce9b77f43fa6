// What the reference page can do beyond being read: find, copy, send a request. Without it nothing is missing to read.
"use strict";
(() => {
	const base = location.href.replace(/[?#].*$/, "").replace(/\/docs\/?$/, "");
	document.getElementById("base").textContent = base;
	for (const hidden of document.querySelectorAll(".find, .key, form.try")) hidden.hidden = false;

	// Operations and schemas that have all the words.
	document.getElementById("find").addEventListener("input", (event) => {
		const words = event.target.value.toLowerCase().split(/\s+/);
		for (const article of document.querySelectorAll("article")) {
			const text = article.textContent.toLowerCase();
			article.hidden = !words.every((word) => text.includes(word));
			const link = document.querySelector('nav a[href="#' + article.id + '"]');
			if (link) link.parentNode.hidden = article.hidden;
		}
	});

	for (const block of document.querySelectorAll("pre.curl")) {
		const button = document.createElement("button");
		button.type = "button";
		button.textContent = "Copy";
		button.addEventListener("click", async () => {
			await navigator.clipboard.writeText(block.textContent.replaceAll("$GPUPICK", base));
			button.textContent = "Copied";
		});
		block.after(button);
	}

	const shown = (text, type) => {
		try {
			return /json/.test(type) ? JSON.stringify(JSON.parse(text), null, 2) : text;
		} catch {
			return text;
		}
	};

	const send = async (form) => {
		const key = document.getElementById("key");
		const query = new URLSearchParams();
		const headers = key && key.value ? {Authorization: "Bearer " + key.value} : {};
		let path = form.dataset.path;
		for (const input of form.querySelectorAll("[data-in]")) {
			if (input.dataset.in === "path") path = path.replace("{" + input.name + "}", encodeURIComponent(input.value));
			else if (input.value) query.append(input.name, input.value);
		}
		const body = form.elements.body && form.elements.body.value;
		if (body) headers["Content-Type"] = "application/json";
		const url = base + path + (query.size ? "?" + query : "");
		const start = performance.now();
		const answer = await fetch(url, {method: form.dataset.method, headers, body: body || undefined});
		const text = shown(await answer.text(), answer.headers.get("Content-Type") || "");
		return answer.status + " " + answer.statusText + " in " + Math.round(performance.now() - start) + " ms, " + url +
			"\n\n" + (text.length > 100000 ? text.slice(0, 100000) + "\n… (" + text.length + " characters)" : text);
	};

	for (const form of document.querySelectorAll("form.try")) {
		form.addEventListener("submit", async (event) => {
			event.preventDefault();
			const block = document.createElement("pre");
			block.tabIndex = 0;
			block.textContent = await send(form).catch((fault) => "No answer: " + fault.message);
			form.querySelector(".result").replaceChildren(block);
		});
	}
})();
