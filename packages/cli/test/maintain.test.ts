import { expect, test } from '@jest/globals';
import { maintain, type MaintainFlags } from '@tocsin-monitor/cli/commands/maintain';
import { ApiError } from '@tocsin-monitor/cli/http/api-error';
import { run } from '@tocsin-monitor/cli/main';
import { MAINTENANCE_WINDOW } from '@tocsin/contracts/routes/examples';
import { at, clientOf, json, lost, monitorOf, respond } from './fake-api.ts';
import { fakeTerminal, type FakeTerminal, runIn } from './fake-terminal.ts';

const WINDOW = { ...MAINTENANCE_WINDOW, id: 'w', endsAt: at(600) };
const ENDED = { ...WINDOW, endsAt: at(3) };
const MONITORS = [{ ...monitorOf('shop'), labels: { app: 'shop' } }, monitorOf('blog')];

interface Options {
  readonly words?: string[];
  readonly command?: string[];
  readonly flags?: Partial<MaintainFlags>;
  readonly monitorCount?: number;
  readonly run?: () => Promise<number>;
  readonly end?: () => Promise<typeof WINDOW>;
}

const refuse = (error: Error) => async (): Promise<never> => {
  throw error;
};

/** Runs the command against an API and a terminal that record their calls in `steps`. */
function start({
  words = ['shop'],
  command = ['./deploy.sh', '--now'],
  flags = {},
  monitorCount = 1,
  run: runCommand = async () => 0,
  end = async () => ENDED,
}: Options = {}): { terminal: FakeTerminal; steps: string[]; code: Promise<number> } {
  const steps: string[] = [];
  const terminal: FakeTerminal = {
    ...fakeTerminal(),
    run: (given) => {
      steps.push(`run ${given.join(' ')}`);
      return runCommand();
    },
  };
  const api = {
    listMonitors: () => Promise.resolve(MONITORS),
    createMaintenanceWindow: async (body: object) => {
      steps.push(`create ${JSON.stringify(body)}`);
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

test('without a command, creates a window and prints its id and end', async () => {
  const { terminal, steps, code } = start({ command: [], words: ['shop', 'shop'] });
  expect(await code).toBe(0);
  const scope = { monitorIds: ['shop'], selector: null, allMonitors: false };
  expect(steps).toEqual([`create ${JSON.stringify({ name: 'Deployment', durationSeconds: 600, ...scope })}`]);
  expect(terminal.printed).toEqual([`w  until ${at(600)}  1 monitor`]);
});

test.each<[string, number, () => Promise<typeof WINDOW>, RegExp]>([
  ['after the command', 130, async () => ENDED, /^Maintenance ended\.$/],
  ['before a command that is late', 0, async () => WINDOW, /--for was too short\.$/],
  [
    'by itself if it cannot be ended',
    3,
    refuse(new ApiError('No server listens.', null)),
    /^Could not end the maintenance\. It lasts until \S+ \(w\)\./,
  ],
])('the window ends %s', async (_, exit, end, note) => {
  const { terminal, steps, code } = start({ run: async () => exit, end });
  expect(await code).toBe(exit);
  expect(steps).toEqual([expect.stringMatching(/^create /), 'run ./deploy.sh --now', 'end w']);
  expect(terminal.printed).toEqual([]);
  expect(terminal.notes.at(-1)).toMatch(note);
});

const unmatched = { selector: { matchLabels: { app: 'shpo' } } };
test.each<[string, Options, RegExp, string[]]>([
  ['no monitors', { words: [] }, /Name monitors, or select them with -l or --all/, []],
  ['an unknown monitor', { words: ['shpo'] }, /There is no monitor "shpo"/, []],
  ['a selector without a match', { flags: unmatched }, /No monitor matches app=shpo/, []],
  ['a window that covers nothing', { monitorCount: 0 }, /cannot change any of them/, ['create', 'end']],
  [
    'a command that cannot be started',
    { run: refuse(new Error('spawn E2BIG')) },
    /E2BIG/,
    ['create', 'run', 'end'],
  ],
])('fails for %s, and leaves no window', async (_, options, message, steps) => {
  const started = start(options);
  await expect(started.code).rejects.toThrow(message);
  expect(started.steps.map((step) => step.split(' ')[0])).toEqual(steps);
});

const monitors = json({ monitors: MONITORS });
const created = json({ maintenanceWindow: WINDOW, monitorCount: 1 });
const ended = json({ maintenanceWindow: ENDED });

test('separates monitors from the command, which keeps its own flags', async () => {
  const { url, bodies } = await clientOf([monitors, created, ended]);
  const ran: (readonly string[])[] = [];
  const terminal = {
    ...fakeTerminal('/', { env: { TOCSIN_URL: url, TOCSIN_API_KEY: 'key' } }),
    run: async (command: readonly string[]) => 4 + ran.push(command),
  };
  const command = ['sh', '-c', 'true', '--', '--for', '-l'];
  const args = ['maintain', 'shop', '-l', 'app in (shop)', '--for', '2h', '--', ...command];
  expect([await run(args, terminal), ran]).toEqual([5, [command]]);
  expect(JSON.parse(bodies[1] ?? '')).toEqual({
    name: 'tocsin maintain',
    durationSeconds: 7_200,
    monitorIds: ['shop'],
    selector: { matchLabels: { app: 'shop' } },
    allMonitors: false,
  });
});

test('repeats a request whose response was lost, with the same Idempotency-Key', async () => {
  const inFlight = { status: 409, type: 'urn:tocsin:problem:request-in-flight', detail: 'd', instance: 'i' };
  const { client, seen, bodies } = await clientOf([
    monitors,
    lost,
    respond(409, JSON.stringify(inFlight), { 'Retry-After': '0' }),
    created,
    lost,
    ended,
  ]);
  const terminal = { ...fakeTerminal(), run: () => Promise.resolve(0) };
  expect(await maintain(client, terminal, ['shop'], ['true'], { name: 'n', for: 600 })).toBe(0);
  const create = 'POST /api/cli/maintenance-windows';
  expect(seen.map(({ method, url: path }) => `${method} ${path}`)).toEqual([
    'GET /api/cli/monitors',
    ...Array.from({ length: 3 }, () => create),
    ...Array.from({ length: 2 }, () => `${create}/w/end`),
  ]);
  const keys = seen.slice(1, 4).map(({ headers }) => headers['idempotency-key']);
  expect(new Set(keys)).toEqual(new Set([expect.stringMatching(/^[0-9a-f-]{36}$/)]));
  expect(new Set(bodies.slice(1, 4)).size).toBe(1);
});

test.each([
  [[], "required option '--for <duration>' not specified"],
  [['--for', '10'], 'It must be a number with s, m, h or d, such as 10m, and at most 30d.'],
  [['--for', '0s'], 'at most 30d'],
  [['--for', '31d'], 'at most 30d'],
  [['--for', '1m', '-l', ' '], 'To cover every monitor, use --all.'],
])('refuses %j', async (args, message) => {
  const env = { TOCSIN_API_KEY: 'key' };
  const ran = await runIn('/', ['maintain', 'shop', ...args, '--', 'true'], { env });
  expect(ran.code).toBe(6);
  expect(ran.err).toContain(message);
});
