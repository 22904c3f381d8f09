/* Runs many checks at once and reports how much memory they use; run by `src/probe/bombs.slow.test.ts`. */
import { createEgress } from '@tocsin/egress/create-egress';
import { Prober } from '../dist/probe/probe.js';

const SETTLED_MS = 50;
const SAMPLE_EVERY_MS = 20;
const { urls, many, timeoutMs, assertions } = JSON.parse(process.argv[2] ?? '{}');
const prober = new Prober({ egress: createEgress({ allowCidrs: ['127.0.0.0/8'] }) });
const target = {
  method: 'GET',
  headers: null,
  body: null,
  timeoutMs,
  assertions,
  owner: { account: '', resource: '' },
};

/** What is in use, without garbage: when that is collected depends on how busy the machine is. */
function liveBytes() {
  globalThis.gc();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** The same without buffers, which end with their connections. */
function heapBytes() {
  globalThis.gc();
  return process.memoryUsage().heapUsed;
}

// What is loaded and compiled once does not count.
await Promise.all(urls.map((url) => prober.probe({ ...target, url, timeoutMs: SETTLED_MS })));
const before = liveBytes();
const heapBefore = heapBytes();
let peak = before;
const sampler = setInterval(() => (peak = Math.max(peak, liveBytes())), SAMPLE_EVERY_MS);
const results = await Promise.all(
  Array.from({ length: many }, (_, index) => prober.probe({ ...target, url: urls[index % urls.length] })),
);
clearInterval(sampler);
process.send({
  grownBytes: peak - before,
  keptBytes: heapBytes() - heapBefore,
  outcomes: [...new Set(results.map(({ status, errorReason }) => `${status} ${errorReason}`))].toSorted(),
});
process.disconnect();
