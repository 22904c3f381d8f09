import { setTimeout as wait } from 'node:timers/promises';
import { figure, type Figure } from '@tocsin/bench/report/figure';
import type { CDPSession, Page } from 'playwright-core';
import type { WithProbes } from './probes.ts';

const SAMPLE_EVERY_MS = 5_000;
/** What comes after the last record was written: the stream looks about once a second. */
const LAST_RECORDS_MS = 3_000;

/** The page's memory, and how free its thread is, while `pour` records events. */
export async function measureLive(
  page: Page,
  seconds: number,
  pour: () => Promise<number>,
): Promise<Figure[]> {
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.enable');
  await page.evaluate(() => {
    const { probes } = globalThis as unknown as WithProbes;
    probes.longTasks.length = 0;
    probes.records = 0;
  });
  const heap = [await heapMegabytes(session)];
  const pouring = pour().then((count) => ({ count }));
  let poured: { count: number } | null = null;
  while (poured === null) {
    poured = await Promise.race([pouring, wait(SAMPLE_EVERY_MS, null)]);
    heap.push(await heapMegabytes(session));
  }
  await wait(LAST_RECORDS_MS);
  const { records, longTasks } = await page.evaluate(() => {
    const { probes } = globalThis as unknown as WithProbes;
    return { records: probes.records, longTasks: probes.longTasks };
  });
  heap.push(await heapMegabytes(session));
  const blocked = longTasks.reduce((sum, ms) => sum + ms, 0);
  const half = heap[Math.floor(heap.length / 2)] ?? Number.NaN;
  const last = heap.at(-1) ?? Number.NaN;
  return [
    figure('live-poured', 'events recorded', poured.count / seconds, '/s'),
    {
      ...figure('live-lost', 'events that did not reach the page', poured.count - records, ''),
      bar: { atMost: 0 },
    },
    figure('live-heap-before', 'JS heap before', heap[0] ?? Number.NaN, 'MB'),
    figure('live-heap-half', 'JS heap half-way', half, 'MB'),
    figure('live-heap-last', 'JS heap at the end', last, 'MB'),
    { ...figure('live-heap-max', 'JS heap, most', Math.max(...heap), 'MB'), bar: { atMost: 150 } },
    figure('live-blocked', 'time in tasks above 50 ms', (blocked / (seconds * 1_000)) * 100, '%'),
    figure('live-longest', 'longest task', Math.max(0, ...longTasks), 'ms'),
  ];
}

/** Of what is in use after a collection. */
async function heapMegabytes(session: CDPSession): Promise<number> {
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  return usedSize / 1e6;
}
