import { distributionOf } from '@tocsin/bench/measure/percentiles';
import { figure, type Figure } from '@tocsin/bench/report/figure';
import type { Page } from 'playwright-core';
import { settle } from '../browser/settle.ts';
import type { WithProbes } from './probes.ts';

const SCROLL_MS = 5_000;
const PIXELS_A_FRAME = 240;

/** Opens the list: from the last byte of its data until one can work with it. */
export async function measureList(page: Page): Promise<Figure[]> {
  await page.goto('/');
  await page.waitForFunction(() => (globalThis as unknown as WithProbes).probes.firstRowAt > 0);
  const { dataAt, firstRowAt, bytes, longest } = await page.evaluate(() => {
    const { probes } = globalThis as unknown as WithProbes;
    const data = performance
      .getEntriesByType('resource')
      .find(({ name }) => new URL(name).pathname === '/api/dashboard/monitors') as
      PerformanceResourceTiming | undefined;
    return {
      dataAt: data?.responseEnd ?? Number.NaN,
      bytes: data?.transferSize ?? Number.NaN,
      firstRowAt: probes.firstRowAt,
      longest: Math.max(0, ...probes.longTasks),
    };
  });
  return [
    { ...figure('list', 'list usable after its data', firstRowAt - dataAt, 'ms'), bar: { atMost: 1_000 } },
    figure('list-total', 'list usable after navigation', firstRowAt, 'ms'),
    figure('list-bytes', 'size of its data as sent', bytes / 1e6, 'MB'),
    figure('list-longest', 'longest task while it loads', longest, 'ms'),
  ];
}

/** Scrolls the list for some seconds, and how long each frame took. */
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
    { scrollMs: SCROLL_MS, step: PIXELS_A_FRAME },
  );
  const { p50, p95, p99, max, count } = distributionOf(frames);
  return [
    figure('scroll-frames', 'frames a second while scrolling', (count * 1_000) / SCROLL_MS, '/s'),
    figure('scroll-p50', 'time of a frame, p50', p50, 'ms'),
    { ...figure('scroll-p95', 'time of a frame, p95', p95, 'ms'), bar: { atMost: 34 } },
    figure('scroll-p99', 'time of a frame, p99', p99, 'ms'),
    figure('scroll-max', 'time of a frame, longest', max, 'ms'),
  ];
}
