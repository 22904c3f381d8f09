import { expect, test } from '@jest/globals';
import { maintain, type MaintainFlags } from '@tocsin-monitor/cli/commands/maintain';
import { ApiError } from '@tocsin-monitor/cli/http/api-error';
import { run } from '@tocsin-monitor/cli/main';
import { MAINTENANCE_WINDOW } from '@tocsin/contracts/routes/examples';
import { at, clientOf, type Handler, json, lost, monitorOf } from './fake-api.ts';
import { fakeTerminal, type FakeTerminal, runIn } from './fake-terminal.ts';

const WINDOW = { ...MAINTENANCE_WINDOW, id: 'w', endsAt: at(600) };
const ENDED = { ...WINDOW, endsAt: at(3) };
const SHOP = { ...monitorOf('shop', null), labels: { app: 'shop' } };
const MONITORS = [SHOP, monitorOf('blog', null)];

interface Steps {
  readonly terminal: FakeTerminal;
  /** What happened, in order. */
  readonly steps: string[];
  readonly code: Promise<number>;
}

interface Options {
  readonly words?: string[];
  readonly command?: string[];
  readonly flags?: Partial<MaintainFlags>;
  readonly monitorCount?: number;
  readonly create?: () => Promise<unknown>;
  readonly run?: () => Promise<number>;
  readonly end?: () => Promise<typeof WINDOW>;
}

/** Runs the command against an API and a terminal that record their calls. */
function start({
  words = ['shop'],
  command = ['./deploy.sh', '--now'],
  flags = {},
  monitorCount = 1,
  create = () => Promise.resolve(),
  run: runCommand = () => Promise.resolve(0),
  end = () => Promise.resolve(ENDED),
}: Options = {}): Steps {
  const steps: string[] = [];
  const terminal: FakeTerminal = {
    ...fakeTerminal('/'),
    run: (given) => {
      steps.push(`run ${given.join(' ')}`);
      return runCommand();
    },
  };
  const api = {
    listMonitors: () => Promise.resolve(MONITORS),
    createMaintenanceWindow: async (body: object) => {
      steps.push(`create ${JSON.stringify(body)}`);
      await create();
      return { maintenanceWindow: WINDOW, monitorCount };
    },
    endMaintenance: (id: string) => {
      steps.push(`end ${id}`);
      return end();
    },
  };
  const all = { name: 'Deployment', for: 600, ...flags };
  return { terminal, steps, code: maintain(api, terminal, words, command, all) };
}

const selecting = { flags: { selector: { matchLabels: { app: 'shop' } } }, words: [] };

test('without a command, creates a window and prints its id and end', async () => {
  const { terminal, steps, code } = start({ command: [], words: ['shop', 'shop'] });
  expect(await code).toBe(0);
  const scope = { monitorIds: ['shop'], selector: null, allMonitors: false };
  expect(steps).toEqual([`create ${JSON.stringify({ name: 'Deployment', durationSeconds: 600, ...scope })}`]);
  expect(terminal.printed).toEqual([`w  until ${at(600)}  1 monitor`]);
});

test.each([0, 3, 130])('ends the window after a command that exits with %i', async (exit) => {
  const { terminal, steps, code } = start({ ...selecting, run: () => Promise.resolve(exit) });
  expect(await code).toBe(exit);
  expect(steps).toEqual([
    expect.stringMatching(/^create .*"selector":{"matchLabels":{"app":"shop"}}/),
    'run ./deploy.sh --now',
    'end w',
  ]);
  expect(terminal.printed).toEqual([]);
  expect(terminal.notes.at(-1)).toBe('Maintenance ended.');
});

test('ends the window if the command cannot be started', async () => {
  const { steps, code } = start({ run: () => Promise.reject(new Error('spawn E2BIG')) });
  await expect(code).rejects.toThrow('E2BIG');
  expect(steps.at(-1)).toBe('end w');
});

test('runs no command if the window cannot be created', async () => {
  const refuse = (): Promise<never> => Promise.reject(new ApiError('Not allowed.', 403));
  const { steps, code } = start({ create: refuse });
  await expect(code).rejects.toThrow('Not allowed.');
  expect(steps).toHaveLength(1);
});

test('runs no command if the window covers nothing', async () => {
  const { steps, code } = start({ ...selecting, monitorCount: 0 });
  await expect(code).rejects.toThrow('this API key may change none of them');
  expect(steps.map((step) => step.split(' ')[0])).toEqual(['create', 'end']);
});

test.each<[string, Options, RegExp]>([
  ['nothing', { words: [] }, /Name monitors, or select them with -l or --all/],
  ['an unknown monitor', { words: ['shpo'] }, /There is no monitor "shpo". Did you mean "shop"\?/],
  [
    'a selector without a match',
    { flags: { selector: { matchLabels: { app: 'shpo' } } } },
    /No monitor matches app=shpo/,
  ],
])('creates no window for %s', async (_, options, message) => {
  const { steps, code } = start(options);
  await expect(code).rejects.toThrow(message);
  expect(steps).toEqual([]);
});

test('keeps the exit code of the command, and says when maintenance ends, if it cannot be ended', async () => {
  const end = (): Promise<never> => Promise.reject(new ApiError('No server listens.', null));
  const { terminal, code } = start({ run: () => Promise.resolve(3), end });
  expect(await code).toBe(3);
  expect(terminal.notes.at(-1)).toBe(
    `Could not end the maintenance. It lasts until ${at(600)} (w). No server listens.`,
  );
});

test('says that the command took longer than the window', async () => {
  const { terminal, code } = start({ end: () => Promise.resolve(WINDOW) });
  expect(await code).toBe(0);
  expect(terminal.notes.at(-1)).toBe(
    `Maintenance ended at ${at(600)}, before the command ended: --for was too short.`,
  );
});

const monitors = json({ monitors: MONITORS });
const created = json({ maintenanceWindow: WINDOW, monitorCount: 1 });
const ended = json({ maintenanceWindow: ENDED });

test('separates monitors from the command, whose flags are its own', async () => {
  const { url, bodies } = await clientOf([monitors, created, ended]);
  const env = { TOCSIN_URL: url, TOCSIN_API_KEY: 'key' };
  const ran: (readonly string[])[] = [];
  const terminal = {
    ...fakeTerminal('/', env),
    run: (command: readonly string[]) => {
      ran.push(command);
      return Promise.resolve(5);
    },
  };
  const command = ['sh', '-c', 'true', '--', '--for', '-l'];
  const code = await run(
    ['maintain', 'shop', '-l', 'app in (shop)', '--for', '2h', '--', ...command],
    terminal,
  );
  expect([code, ran]).toEqual([5, [command]]);
  expect(JSON.parse(bodies[1] ?? '')).toEqual({
    name: 'tocsin maintain',
    durationSeconds: 7_200,
    monitorIds: ['shop'],
    selector: { matchLabels: { app: 'shop' } },
    allMonitors: false,
  });
});

const inFlight: Handler = (_, res) => {
  const body = { status: 409, type: 'urn:tocsin:problem:request-in-flight', detail: 'd', instance: 'i' };
  res.writeHead(409, { 'Retry-After': '0' }).end(JSON.stringify(body));
};

test('repeats a request whose response was lost, with the same Idempotency-Key', async () => {
  const { client, seen, bodies } = await clientOf([monitors, lost, inFlight, created, lost, ended]);
  const terminal = { ...fakeTerminal('/'), run: () => Promise.resolve(0) };
  expect(await maintain(client, terminal, ['shop'], ['true'], { name: 'n', for: 600 })).toBe(0);
  expect(seen.map(({ method, url: path }) => `${method} ${path}`)).toEqual([
    'GET /api/cli/monitors',
    ...Array.from({ length: 3 }, () => 'POST /api/cli/maintenance-windows'),
    ...Array.from({ length: 2 }, () => 'POST /api/cli/maintenance-windows/w/end'),
  ]);
  const keys = seen.slice(1, 4).map(({ headers }) => headers['idempotency-key']);
  expect(new Set(keys)).toEqual(new Set([expect.stringMatching(/^[0-9a-f-]{36}$/)]));
  expect(new Set(bodies.slice(1, 4)).size).toBe(1);
});

test.each([
  [[], "required option '--for <duration>' not specified"],
  [['--for', '10'], 'It must be a number with s, m, h or d, such as 10m, and at most 30d.'],
  [['--for', '0s'], 'It must be a number'],
  [['--for', '31d'], 'at most 30d'],
  [['--for', '1m', '-l', ' '], 'To cover every monitor, use --all.'],
  [['--for', '1m', '-l', 'app in shop'], 'The selector has an unexpected "shop"'],
])('refuses %j', async (args, message) => {
  const ran = await runIn('/', ['maintain', 'shop', ...args, '--', 'true'], { TOCSIN_API_KEY: 'key' });
  expect(ran.code).toBe(1);
  expect(ran.err).toContain(message);
});
