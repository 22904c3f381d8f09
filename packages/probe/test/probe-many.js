/* Runs many checks at once and reports how much memory their results keep. `src/probe/bombs.slow.test.ts` runs it. */
import { createEgress } from '@tocsin/egress/create-egress';
import { Prober } from '../dist/probe.js';

const { url, many, timeoutMs } = JSON.parse(process.argv[2] ?? '{}');
const prober = new Prober({ egress: createEgress({ allowCidrs: ['127.0.0.0/8'] }) });
const target = {
  url,
  method: 'GET',
  headers: null,
  body: null,
  timeoutMs,
  assertions: { bodyContains: 'needle' },
  owner: { account: '', resource: '' },
};

/** Returns the used memory without garbage and buffers, which end with their connections. */
function heapBytes() {
  globalThis.gc();
  return process.memoryUsage().heapUsed;
}

// The first probe loads and compiles the code, which does not count.
await prober.probe(target);
const before = heapBytes();
const results = await Promise.all(Array.from({ length: many }, () => prober.probe(target)));
process.send({
  keptBytes: heapBytes() - before,
  outcomes: [...new Set(results.map(({ status, errorReason }) => `${status} ${errorReason}`))].toSorted(),
});
process.disconnect();
