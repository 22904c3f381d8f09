import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import type { Figure } from '@tocsin/bench/report/figure';
import { describeMachine } from '@tocsin/bench/report/machine';
import { tableOf } from '@tocsin/bench/report/table';
import { Client } from 'pg';
import { openContext } from '../browser.ts';
import { runWithSystem, say, type DashboardSystem } from '../dashboard-system.ts';
import { DESKTOP } from '../pages.ts';
import { insertMonitors, recordEvents } from './events.ts';
import { installProbes, measureList, measureLive, measurePaint, measureScroll } from './page.ts';

interface Options {
  readonly monitors: number;
  readonly rate: number;
  readonly seconds: number;
}

/**
 * `npm run bench:dashboard`: how quick the built dashboard is in Chromium: first paint, the list, scrolling, and a minute of live
 * updates.
 * @public called by `bootstrap.js`
 */
export async function main(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: args.filter((arg) => arg !== '--'),
    options: {
      monitors: { type: 'string', default: '5000' },
      rate: { type: 'string', default: '500' },
      seconds: { type: 'string', default: '60' },
      json: { type: 'string' },
    },
  });
  const options: Options = {
    monitors: Number(values.monitors),
    rate: Number(values.rate),
    seconds: Number(values.seconds),
  };
  if (Object.values(options).some((value) => !Number.isSafeInteger(value) || value < 1)) {
    process.stderr.write('--monitors, --rate and --seconds must be whole numbers from 1\n');
    process.exit(1);
  }
  const machine = describeMachine();
  await runWithSystem(async (dashboard) => {
    const client = new Client({ connectionString: dashboard.system.databaseUrl });
    await client.connect();
    const figures = await measure(dashboard, client, options);
    await client.end();
    say(`\n${tableOf(figures)}`);
    if (values.json !== undefined)
      await writeFile(values.json, `${JSON.stringify({ machine, options, figures }, null, 2)}\n`);
  });
}

async function measure(
  dashboard: DashboardSystem,
  client: Client,
  { monitors, rate, seconds }: Options,
): Promise<Figure[]> {
  const { system, browser } = dashboard;
  const owner = await dashboard.createOwner();
  say('First paint …');
  const paint = await measurePaint(browser, owner);
  say(`Making ${monitors} monitors …`);
  const ids = await insertMonitors(client, system.context.accountId, monitors);
  const { context, problems } = await openContext(browser, { viewport: DESKTOP });
  await context.addCookies([...owner.cookies]);
  await installProbes(context);
  const page = await context.newPage();
  say('The list …');
  const list = await measureList(page);
  const scroll = await measureScroll(page);
  say(`${rate} events a second for ${seconds} s …`);
  const live = await measureLive(page, seconds, () => recordEvents(client, ids, rate, seconds));
  for (const problem of problems) say(`Problem: ${problem}`);
  return [...paint, ...list, ...scroll, ...live];
}
