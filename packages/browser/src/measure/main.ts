import { writeFile } from 'node:fs/promises';
import type { Figure } from '@tocsin/bench/report/figure';
import { describeMachine } from '@tocsin/bench/report/machine';
import { tableOf } from '@tocsin/bench/report/table';
import { helpText, number, parseOptions, text } from '@tocsin/lab/options';
import { openContext } from '../browser.ts';
import { runWithSystem, say, type DashboardSystem } from '../dashboard-system.ts';
import { DESKTOP } from '../pages.ts';
import { insertCheckedMonitors, recordEvents } from './events.ts';
import {
  installProbes,
  measureKeystrokes,
  measureList,
  measureLive,
  measurePaint,
  measureScroll,
} from './page.ts';

const OPTIONS = {
  monitors: number('how many monitors', 5_000, { min: 1 }),
  rate: number('live events per second', 500, { min: 1 }),
  seconds: number('how long events are live', 60, { min: 1 }),
  json: text('writes the results to a file', 'FILE'),
};
type Options = ReturnType<typeof parseOptions<typeof OPTIONS>>['values'];

/**
 * Implements `npm run bench:dashboard`. Measures first paint, the list, scrolling, typing and live updates of the built dashboard in
 * Chromium.
 * @public called by `bootstrap.js`
 */
export async function main(args: readonly string[]): Promise<void> {
  const { help, values } = parseOptions(args, OPTIONS);
  if (help) {
    say(helpText('bench:dashboard --', 'Measures the dashboard in Chromium.', OPTIONS));
    return;
  }
  const machine = describeMachine();
  await runWithSystem(async (dashboard) => {
    const figures = await measure(dashboard, values);
    say(`\n${tableOf(figures)}`);
    if (values.json !== null)
      await writeFile(values.json, `${JSON.stringify({ machine, options: values, figures }, null, 2)}\n`);
  });
}

async function measure(dashboard: DashboardSystem, { monitors, rate, seconds }: Options): Promise<Figure[]> {
  const { system, browser } = dashboard;
  const owner = await dashboard.createOwner();
  say('First paint …');
  const paint = await measurePaint(browser, owner);
  say(`Creating ${monitors} monitors …`);
  const ids = await insertCheckedMonitors(system, monitors);
  const { context, problems } = await openContext(browser, { viewport: DESKTOP });
  await context.addCookies(owner.cookies);
  await installProbes(context);
  const page = await context.newPage();
  say('The list …');
  const list = await measureList(page);
  const scroll = await measureScroll(page);
  const keystrokes = await measureKeystrokes(page);
  say(`${rate} events per second for ${seconds} s …`);
  const live = await measureLive(page, seconds, () => recordEvents(system, ids, rate, seconds));
  for (const problem of problems) say(`Problem: ${problem}`);
  return [...paint, ...list, ...scroll, ...keystrokes, ...live];
}
