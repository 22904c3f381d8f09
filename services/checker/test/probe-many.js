/* Runs many checks at once and says what they cost a process; run by `src/probe/bombs.test.ts`. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { createEgress } from '@tocsin/egress/create-egress';
import { probe } from '../dist/probe/probe.js';

const SETTLED_MS = 50;
const { urls, many, timeoutMs, assertions } = JSON.parse(process.argv[2] ?? '{}');
const egress = createEgress({ allowCidrs: ['127.0.0.0/8'] });
const target = { method: 'GET', headers: null, body: null, timeoutMs, assertions };

// What is loaded and compiled once does not count.
await Promise.all(urls.map((url) => probe({ ...target, url, timeoutMs: SETTLED_MS }, egress)));
globalThis.gc();
const before = process.memoryUsage.rss();
let peak = before;
const sampler = setInterval(() => (peak = Math.max(peak, process.memoryUsage.rss())), 5);
const delay = monitorEventLoopDelay({ resolution: 5 });
delay.enable();
const results = await Promise.all(
  Array.from({ length: many }, (_, index) => {
    const startedAt = performance.now();
    return probe({ ...target, url: urls[index % urls.length] }, egress).then((result) => ({
      ...result,
      tookMs: performance.now() - startedAt,
    }));
  }),
);
clearInterval(sampler);
process.send({
  grownBytes: peak - before,
  longestStallMs: delay.max / 1e6,
  longestMs: Math.max(...results.map(({ tookMs }) => tookMs)),
  outcomes: [...new Set(results.map(({ status, errorReason }) => `${status} ${errorReason}`))].toSorted(),
});
process.disconnect();
