// Runs the engine as the page's worker does. Reads requests from stdin, a JSON object a line: {path, form, posted}, and
// writes the responses in the same way.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

const [module, worker] = process.argv.slice(2).map((name) => readFileSync(name));
const waiting = new Map();
globalThis.self = globalThis;
globalThis.postMessage = (answer) => {
  if (answer.died) {
    console.error(answer.died);
    process.exit(1);
  }
  waiting.get(answer.number)(answer);
};
(0, eval)(worker.toString());
self.onmessage({ data: { bytes: module } });
let number = 0;
for await (const line of createInterface({ input: process.stdin })) {
  const answer = await new Promise((resolve) => {
    waiting.set(++number, resolve);
    self.onmessage({ data: { number, ...JSON.parse(line) } });
  });
  process.stdout.write(JSON.stringify({ status: answer.status, text: answer.text }) + "\n");
}
await new Promise((resolve) => process.stdout.write("", resolve));
process.exit(0);
