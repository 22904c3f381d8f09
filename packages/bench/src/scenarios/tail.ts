import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { setTimeout as wait } from 'node:timers/promises';
import { type Event, eventSchema } from '@tocsin/contracts/monitors/events';
import { untilChecked, untilScheduled } from '@tocsin/lab/monitors';
import type { System } from '@tocsin/lab/system';
import { distributionOf } from '../measure/percentiles.ts';
import { figure } from '../report/figure.ts';
import { openStage, measureUsage } from '../stage.ts';
import type { Bench, Measurement } from './scenario.ts';

const CLI = fileURLToPath(new URL('../../../cli/bin/tocsin.js', import.meta.url));
/** The default limit of the api. */
const REQUESTS_PER_MINUTE = 1_200;
/** How long the tail may take to print the last events after the checkers have stopped. */
const DRAIN_MS = 30_000;
const POLL_MS = 500;

interface PrintedEvent extends Pick<Event, 'id' | 'timestamp'> {
  /** Epoch milliseconds. */
  readonly printedAt: number;
}

/** `tocsin tail -f` as a process of its own, from now on. */
class TailProcess {
  readonly events: PrintedEvent[] = [];
  /** What it wrote to stderr. */
  notes = '';
  readonly #child: ChildProcess;

  private constructor(system: System) {
    const child = spawn(process.execPath, [CLI, 'tail', '-f', '-n', '0', '--json'], {
      env: {
        PATH: process.env['PATH'],
        TOCSIN_URL: `http://127.0.0.1:${system.apiPort()}`,
        TOCSIN_API_KEY: system.apiKey,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    createInterface({ input: child.stdout }).on('line', (line) => {
      const { id, timestamp } = eventSchema.parse(JSON.parse(line));
      this.events.push({ id, timestamp, printedAt: Date.now() });
    });
    child.stderr.on('data', (bytes: Buffer) => (this.notes += String(bytes)));
    this.#child = child;
  }

  /** Resolves when it has printed its first event. @throws Error if it ends before that */
  static async start(system: System): Promise<TailProcess> {
    const tail = new TailProcess(system);
    while (tail.events.length === 0) {
      if (tail.#child.exitCode !== null) throw new Error(`tocsin tail ended: ${tail.notes}`);
      await wait(POLL_MS);
    }
    return tail;
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exit = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exit;
  }
}

/** `tocsin tail -f` of every monitor, with a key that has the default rate limit: does it print each event once? */
export async function runTail(bench: Bench): Promise<Measurement> {
  const { monitors = 5_000, rate = 100, seconds = 60, checkers = 1 } = bench.options;
  const { interval = monitors / rate } = bench.options;
  const stage = await openStage(bench);
  const { system, redis } = stage;
  if (redis === null) throw new Error('the queue is not on Redis');
  await stage.startService('api', { API_RATE_LIMIT_PER_MINUTE: String(REQUESTS_PER_MINUTE) });
  const others = Array.from({ length: checkers }, (_, index) => `checker ${index + 1}`);
  await Promise.all(['notifier', ...others].map((name) => stage.startService(name)));
  await stage.insertMonitors(monitors, interval);
  await untilScheduled(system, redis);
  bench.say('Waiting until each monitor is checked …');
  await untilChecked(system);
  const tail = await bench.teardown.start(TailProcess.start(system), (one) => one.stop());
  bench.say(`Following ${monitors} monitors for ${seconds} s …`);
  const { usage } = await measureUsage(stage, () => wait(seconds * 1_000));
  await stage.stopServices('checker');
  const events = await compare(system, tail);
  const [api] = stage.running('api');
  const counts = countRequests((await api?.metrics()) ?? '');
  const cpuPercent = (name: string): number => (usage.get(name)?.cpuMs ?? Number.NaN) / seconds / 10;
  const delay = distributionOf(
    tail.events.map(({ timestamp, printedAt }) => printedAt - Date.parse(timestamp)),
  );
  return {
    settings: { monitors, interval, seconds, checkers },
    figures: [
      figure('recorded', 'events recorded', events.recorded, ''),
      figure('missing', 'events not printed', events.missing, ''),
      figure('repeated', 'events printed more than once', events.repeated, ''),
      figure('unknown', 'printed events that were never recorded', events.unknown, ''),
      figure('disordered', 'events printed before an earlier one', events.disordered, ''),
      ...(['p50', 'p99', 'max'] as const).map((p) =>
        figure(`delay-${p}`, `recorded to printed, ${p}`, delay[p], 'ms'),
      ),
      figure('requests', 'requests of the tail', counts.all, ''),
      figure('limited', 'requests over the rate limit', counts.limited, ''),
      figure('cpu-api', 'CPU of the api, of one core', cpuPercent('api'), '%'),
      figure('cpu-postgres', 'CPU of Postgres, of one core', cpuPercent('postgres'), '%'),
    ],
    ...(tail.notes !== '' && { notes: [`tocsin tail reported: ${tail.notes.trim()}`] }),
  };
}

/** Compares what was printed with what is recorded after the first printed event. Waits for events that are still on their way. */
async function compare(system: System, tail: TailProcess) {
  const first = tail.events[0]?.timestamp ?? '';
  const { rows } = await system.database.pool.query<{ id: string }>(
    'select id from events where timestamp > $1',
    [first],
  );
  const recorded = new Set(rows.map(({ id }) => id));
  const deadline = Date.now() + DRAIN_MS;
  for (;;) {
    // Other events of the first one's millisecond may have been before its cursor.
    const printed = tail.events.filter(({ timestamp }) => timestamp > first);
    const ids = new Set(printed.map(({ id }) => id));
    const missing = [...recorded].filter((id) => !ids.has(id)).length;
    if (missing === 0 || Date.now() > deadline) {
      return {
        recorded: recorded.size,
        missing,
        repeated: printed.length - ids.size,
        unknown: [...ids].filter((id) => !recorded.has(id)).length,
        disordered: printed.filter(
          ({ timestamp }, index) => timestamp < (printed[index - 1]?.timestamp ?? ''),
        ).length,
      };
    }
    await wait(POLL_MS);
  }
}

/** Reads the requests of the tail, and those of any route that were refused, from the metrics of the api. */
function countRequests(metrics: string): { all: number; limited: number } {
  const counts = [...metrics.matchAll(/^tocsin_http_request_duration_seconds_count\{(.*)\} (\d+)$/gm)];
  const sum = (label: string): number =>
    counts.reduce((total, [, labels = '', count]) => total + (labels.includes(label) ? Number(count) : 0), 0);
  return { all: sum('route="/api/cli/events"'), limited: sum('status="429"') };
}
