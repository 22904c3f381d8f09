import { setTimeout as wait } from 'node:timers/promises';
import { distributionOf } from '@tocsin/bench/measure/percentiles';
import { figure, type Figure } from '@tocsin/bench/report/figure';
import type { Browser, BrowserContext, CDPSession, Page } from 'playwright-core';
import { openContext, settle } from '../browser.ts';
import type { DashboardUser } from '../dashboard-system.ts';

/** Values that a page collects during a measurement. */
interface Probes {
  /** When the first row of the list was painted and the page idle, in milliseconds after navigation; 0 before. */
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

/** Reloads the list with a warm cache, and measures the time from navigation, and from the last byte of its data, until it is usable. */
export async function measureList(page: Page): Promise<Figure[]> {
  await page.goto('/');
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
    { ...figure('list', 'list usable after its data', firstRowAt - dataAt, 'ms'), bar: { atMost: 1_000 } },
    { ...figure('list-total', 'list usable after a reload', firstRowAt, 'ms'), bar: { atMost: 1_200 } },
    { ...figure('list-requests', 'requests for its data', requests, ''), bar: { atMost: 1 } },
    figure('list-data', 'duration of that request', dataAt - askedAt, 'ms'),
    figure('list-bytes', 'transferred size of its data', bytes / 1e6, 'MB'),
    figure('list-longest', 'longest task while it loads', longest, 'ms'),
  ];
}

/** Scrolls the list for some seconds, and measures how long each frame takes. */
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
  const { p50, p95, p99, max, count } = distributionOf(frames);
  return [
    figure('scroll-frames', 'frames a second while scrolling', (count * 1_000) / SCROLL_MS, '/s'),
    figure('scroll-p50', 'frame time, p50', p50, 'ms'),
    { ...figure('scroll-p95', 'frame time, p95', p95, 'ms'), bar: { atMost: 34 } },
    figure('scroll-p99', 'frame time, p99', p99, 'ms'),
    figure('scroll-max', 'frame time, maximum', max, 'ms'),
  ];
}

const SEARCH = 'payments 12';
/** Longer than a keystroke takes, and shorter than the pause after which the list is filtered. */
const TYPING_MS = 120;
/** Long enough for the list to be filtered after each keystroke. */
const PAUSE_MS = 300;

/** Types into the filter, and measures how long the thread of the page computes for each keystroke. */
export async function measureKeystrokes(page: Page): Promise<Figure[]> {
  await page.evaluate(() => scrollTo(0, 0));
  await page.getByLabel('Search monitors').focus();
  const session = await page.context().newCDPSession(page);
  // The time of the thread itself: other processes on the machine do not count.
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  const typing = distributionOf(await typeSearch(page, session, TYPING_MS));
  const pausing = distributionOf(await typeSearch(page, session, PAUSE_MS));
  await session.detach();
  return [
    figure('keystroke-p50', 'keystroke in the filter, p50', typing.p50, 'ms'),
    { ...figure('keystroke-p95', 'keystroke in the filter, p95', typing.p95, 'ms'), bar: { atMost: 16 } },
    figure('keystroke-max', 'keystroke in the filter, maximum', typing.max, 'ms'),
    figure('filter-p50', 'keystroke and filtered list, p50', pausing.p50, 'ms'),
    figure('filter-p95', 'keystroke and filtered list, p95', pausing.p95, 'ms'),
  ];
}

/** Types the search and deletes it again, three times. @returns the milliseconds that each keystroke and the time after it took */
async function typeSearch(page: Page, session: CDPSession, pauseMs: number): Promise<number[]> {
  const busy: number[] = [];
  for (let turn = 0; turn < 3; turn += 1)
    for (const key of [...SEARCH.split(''), ...Array.from(SEARCH, () => 'Backspace')]) {
      const before = await readTaskMs(session);
      await page.keyboard.press(key);
      await wait(pauseMs);
      busy.push((await readTaskMs(session)) - before);
    }
  return busy;
}

async function readTaskMs(session: CDPSession): Promise<number> {
  const { metrics } = await session.send('Performance.getMetrics');
  return 1_000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN);
}

const RUNS = 7;

/** First paint without a cache. */
export async function measurePaint(browser: Browser, owner: DashboardUser): Promise<Figure[]> {
  const paints: number[] = [];
  for (let run = 0; run < RUNS; run += 1) {
    const { context } = await openContext(browser);
    await context.addCookies(owner.cookies);
    const page = await context.newPage();
    await page.goto('/');
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
    { ...figure('first-paint', 'first paint, median', p50, 'ms'), bar: { atMost: 1_000 } },
    figure('first-paint-max', `first paint, slowest of ${RUNS}`, max, 'ms'),
  ];
}

const SAMPLE_EVERY_MS = 5_000;
/** The stream polls for records about once a second. */
const LAST_RECORDS_MS = 3_000;

/** The page's memory, and how busy its thread is, while `record` records events. */
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
  const half = heap[Math.floor(heap.length / 2)] ?? Number.NaN;
  const last = heap.at(-1) ?? Number.NaN;
  return [
    figure('live-poured', 'events recorded', recorded / seconds, '/s'),
    {
      ...figure('live-lost', 'events that did not reach the page', recorded - records, ''),
      bar: { atMost: 0 },
    },
    figure('live-heap-before', 'JS heap before', heap[0] ?? Number.NaN, 'MB'),
    figure('live-heap-half', 'JS heap halfway', half, 'MB'),
    figure('live-heap-last', 'JS heap at the end', last, 'MB'),
    { ...figure('live-heap-max', 'JS heap, maximum', Math.max(...heap), 'MB'), bar: { atMost: 150 } },
    figure('live-blocked', 'time in tasks above 50 ms', (blocked / (seconds * 1_000)) * 100, '%'),
    figure('live-longest', 'longest task', Math.max(0, ...longTasks), 'ms'),
  ];
}

/** Heap in use after a collection. */
async function heapMegabytes(session: CDPSession): Promise<number> {
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  return usedSize / 1e6;
}
