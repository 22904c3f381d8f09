import { distributionOf } from '@tocsin/bench/measure/percentiles';
import { figure, type Figure } from '@tocsin/bench/report/figure';
import type { Browser } from 'playwright-core';
import { settle } from '../browser/settle.ts';
import { openContext } from '../browser/watched-context.ts';
import type { DashboardClient } from '../system/dashboard-client.ts';

const RUNS = 7;

/** First paint of what a browser sees for the first time: nothing is cached. */
export async function measurePaint(browser: Browser, owner: DashboardClient): Promise<Figure[]> {
  const paints: number[] = [];
  for (let run = 0; run < RUNS; run += 1) {
    const { context } = await openContext(browser);
    await context.addCookies([...owner.cookies]);
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
