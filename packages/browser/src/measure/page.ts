import { setTimeout as wait } from 'node:timers/promises';
import { distributionOf } from '@tocsin/bench/measure/percentiles';
import { figure, type Figure } from '@tocsin/bench/report/figure';
import type { Browser, BrowserContext, CDPSession, Page } from 'playwright-core';
import { openContext, settle } from '../browser.ts';
import type { DashboardUser } from '../dashboard-system.ts';

/** Values that a page collects during a measurement. */
interface Probes {
  /** Milliseconds from the navigation until the first row was painted and the page was idle. 0 before that. */
  firstRowAt: number;
  /** Checks received by the live stream. */
  records: number;
  /** Durations of tasks of the main thread above 50 ms, in milliseconds. */
  longTasks: number[];
}

declare global {
  /** Set by `installProbes`. */
  var probes: Probes;
}

/** Installs the probes in every page of the context, before its own scripts. */
export async function installProbes(context: BrowserContext): Promise<void> {
  await context.addInitScript(() => {
    globalThis.probes = { firstRowAt: 0, records: 0, longTasks: [] };
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) probes.longTasks.push(duration);
    }).observe({ type: 'longtask', buffered: true });

    const rows = new MutationObserver(() => {
      if (document.querySelector('tbody tr[aria-rowindex] a') === null) return;
      rows.disconnect();
      // After the paint, when the thread is idle.
      requestAnimationFrame(() => setTimeout(() => (probes.firstRowAt = performance.now())));
    });
    rows.observe(document, { childList: true, subtree: true });

    globalThis.EventSource = class extends EventSource {
      constructor(...args: ConstructorParameters<typeof EventSource>) {
        super(...args);
        this.addEventListener('check', () => (probes.records += 1));
      }
    };
  });
}

const SCROLL_MS = 5_000;
const PIXELS_PER_FRAME = 240;

/** Reloads the list with a warm cache. Measures when it becomes usable after the navigation and after its data. */
export async function measureList(page: Page): Promise<Figure[]> {
  await page.goto('/default');
  await settle(page);
  await page.reload();
  await page.waitForFunction(() => probes.firstRowAt > 0);
  // A second request would follow soon after the stream begins.
  await settle(page);
  await page.getByText('Live', { exact: true }).waitFor();
  const { requests, askedAt, dataAt, firstRowAt, bytes, longest } = await page.evaluate(() => {
    const entries = performance.getEntriesByType('resource') as PerformanceResourceTiming[];
    const lists = entries.filter(({ name }) =>
      ['/api/dashboard/overview', '/api/dashboard/monitors'].includes(new URL(name).pathname),
    );
    const [data] = lists;
    return {
      requests: lists.length,
      askedAt: data?.requestStart ?? Number.NaN,
      dataAt: data?.responseEnd ?? Number.NaN,
      bytes: data?.transferSize ?? Number.NaN,
      firstRowAt: probes.firstRowAt,
      longest: Math.max(0, ...probes.longTasks),
    };
  });
  return [
    figure('list', 'list usable after its data', firstRowAt - dataAt, 'ms', { atMost: 1_000 }),
    figure('list-total', 'list usable after a reload', firstRowAt, 'ms', { atMost: 1_200 }),
    figure('list-requests', 'requests for its data', requests, '', { atMost: 1 }),
    figure('list-data', 'duration of that request', dataAt - askedAt, 'ms'),
    figure('list-bytes', 'transferred size of its data', bytes / 1e6, 'MB'),
    figure('list-longest', 'longest task while it loads', longest, 'ms'),
  ];
}

/** Scrolls the list for some seconds, and measures the duration of each frame. */
export async function measureScroll(page: Page): Promise<Figure[]> {
  await settle(page);
  const frames = await page.evaluate(
    ({ scrollMs, step }) =>
      new Promise<number[]>((resolve) => {
        const times: number[] = [];
        const start = performance.now();
        let last = start;
        let direction = 1;
        const onFrame = (now: number): void => {
          times.push(now - last);
          last = now;
          const before = scrollY;
          scrollBy(0, step * direction);
          if (scrollY === before) direction = -direction;
          if (now - start < scrollMs) requestAnimationFrame(onFrame);
          else resolve(times.slice(1));
        };
        requestAnimationFrame(onFrame);
      }),
    { scrollMs: SCROLL_MS, step: PIXELS_PER_FRAME },
  );
  const { p95, max, count } = distributionOf(frames);
  return [
    figure('scroll-frames', 'frames a second while scrolling', (count * 1_000) / SCROLL_MS, '/s'),
    figure('scroll-p95', 'frame time, p95', p95, 'ms', { atMost: 34 }),
    figure('scroll-max', 'frame time, maximum', max, 'ms'),
  ];
}

const SEARCH = 'payments 12';
/** Longer than a keystroke takes, and shorter than the pause after which the list is filtered. */
const TYPING_MS = 120;

/** Types into the filter, and measures the time that the page's thread computes for each keystroke. */
export async function measureKeystrokes(page: Page): Promise<Figure[]> {
  await page.evaluate(() => scrollTo(0, 0));
  await page.getByLabel('Search monitors').focus();
  const session = await page.context().newCDPSession(page);
  // Counts only the thread's own time, not that of other processes.
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  const busy: number[] = [];
  for (let round = 0; round < 3; round += 1)
    for (const key of [...SEARCH.split(''), ...Array.from(SEARCH, () => 'Backspace')]) {
      const before = await readTaskMs(session);
      await page.keyboard.press(key);
      await wait(TYPING_MS);
      busy.push((await readTaskMs(session)) - before);
    }
  await session.detach();
  const { p50, p95, max } = distributionOf(busy);
  return [
    figure('keystroke-p50', 'keystroke in the filter, p50', p50, 'ms'),
    figure('keystroke-p95', 'keystroke in the filter, p95', p95, 'ms', { atMost: 16 }),
    figure('keystroke-max', 'keystroke in the filter, maximum', max, 'ms'),
  ];
}

async function readTaskMs(session: CDPSession): Promise<number> {
  const { metrics } = await session.send('Performance.getMetrics');
  return 1_000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN);
}

const RUNS = 7;

/** Measures the first paint without a cache. */
export async function measurePaint(browser: Browser, owner: DashboardUser): Promise<Figure[]> {
  const paints: number[] = [];
  for (let run = 0; run < RUNS; run += 1) {
    const { context } = await openContext(browser);
    await context.addCookies(owner.cookies);
    const page = await context.newPage();
    await page.goto('/default');
    await settle(page);
    paints.push(
      await page.evaluate(
        () => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? Number.NaN,
      ),
    );
    await context.close();
  }
  const { p50, max } = distributionOf(paints);
  return [
    figure('first-paint', 'first paint, median', p50, 'ms', { atMost: 1_000 }),
    figure('first-paint-max', `first paint, slowest of ${RUNS}`, max, 'ms'),
  ];
}

const SAMPLE_EVERY_MS = 5_000;
/** The stream polls for records about once a second. */
const LAST_RECORDS_MS = 3_000;

/** Measures the page's memory and the load on its main thread while `record` records events. */
export async function measureLive(
  page: Page,
  seconds: number,
  record: () => Promise<number>,
): Promise<Figure[]> {
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.enable');
  await page.evaluate(() => {
    probes.longTasks.length = 0;
    probes.records = 0;
  });
  const heap = [await heapMegabytes(session)];
  const recording = record();
  let recorded: number | null = null;
  while (recorded === null) {
    recorded = await Promise.race([recording, wait(SAMPLE_EVERY_MS, null)]);
    heap.push(await heapMegabytes(session));
  }
  await wait(LAST_RECORDS_MS);
  const { records, longTasks } = await page.evaluate(() => probes);
  heap.push(await heapMegabytes(session));
  const blocked = longTasks.reduce((sum, ms) => sum + ms, 0);
  return [
    figure('live-poured', 'events recorded', recorded / seconds, '/s'),
    figure('live-lost', 'events that did not reach the page', recorded - records, '', { atMost: 0 }),
    figure('live-heap-before', 'JS heap before', heap[0] ?? Number.NaN, 'MB'),
    figure('live-heap-last', 'JS heap at the end', heap.at(-1) ?? Number.NaN, 'MB'),
    figure('live-heap-max', 'JS heap, maximum', Math.max(...heap), 'MB', { atMost: 150 }),
    figure('live-blocked', 'time in tasks above 50 ms', (blocked / (seconds * 1_000)) * 100, '%'),
    figure('live-longest', 'longest task', Math.max(0, ...longTasks), 'ms'),
  ];
}

/** Returns the heap in use after a garbage collection. */
async function heapMegabytes(session: CDPSession): Promise<number> {
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  return usedSize / 1e6;
}
