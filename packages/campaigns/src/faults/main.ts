import { UsageError } from '@tocsin/embedded/program/run-program';
import type { Teardown } from '@tocsin/embedded/program/teardown';
import { ensureRedisForTests } from '@tocsin/embedded/test-run/programs';
import { runCommand, say } from '@tocsin/lab/command';
import { ensureLibfaketime } from '@tocsin/lab/faults/libfaketime';
import { alignRows, flag, number, type ValuesOf } from '@tocsin/lab/options';
import { uncheckedSpans } from '@tocsin/lab/oracle/checks';
import type { FaultRecord } from '@tocsin/lab/oracle/record';
import { conclude, sum, type Row } from '../report.ts';
import { runFaults } from './run-faults.ts';
import { runSteady } from './run-steady.ts';

const ABOUT = `Fires seeded faults at a system, and looks for anything lost or false (docs/reliability.md). With --restarts, the system has no
faults but a steady load, under which everything must happen exactly once. With --restarts 0, memory is watched, too.`;
const OPTIONS = {
  seed: number('seed of all random choices', 1, { min: 1, max: 2 ** 31 }),
  minutes: number('length in minutes', 3, { min: 0.05, max: 10_000, fraction: true }),
  restarts: number('restarts each service this often, instead of firing faults', null, {
    min: 0,
    max: 10_000,
  }),
  rate: number('checks per second of the steady load', 300, { min: 10, max: 2_000 }),
  keep: flag('keeps the logs and the record, not only of a campaign with violations'),
};

/** Implements `npm run test:campaigns -- faults`, `restarts` and `soak`. @public called by `bootstrap.js` */
export async function main(args: readonly string[]): Promise<void> {
  await runCommand(args, { name: 'test:campaigns -- faults', about: ABOUT, options: OPTIONS, run });
}

async function run(
  { seed, minutes, restarts, rate, keep }: ValuesOf<typeof OPTIONS>,
  teardown: Teardown,
): Promise<number> {
  if (process.platform !== 'linux') throw new UsageError('Fault campaigns need Linux');
  ensureRedisForTests(say);
  const command = `faults --seed ${seed} --minutes ${minutes}`;
  if (restarts !== null) {
    const result = await runSteady({ seed, minutes, restarts, rate }, teardown);
    return conclude({ ...result, keep, command: `${command} --restarts ${restarts} --rate ${rate}` });
  }
  const libfaketime = ensureLibfaketime(say);
  const { record, logs } = await runFaults({ seed, minutes, libfaketime }, teardown);
  say(describeFaults(record));
  return conclude({ record, logs, rows: rowsOf(record), keep, command });
}

/** Lists how often each kind of fault was fired, and why a fault was not. */
function describeFaults({ kinds, faults }: FaultRecord): string {
  return alignRows(
    kinds.map((kind) => {
      const all = faults.filter(({ name }) => name === kind);
      const fired = all.filter(({ firedAt }) => firedAt !== null).length;
      return [kind, `${fired} ×`, all.find(({ note }) => note !== '')?.note ?? ''];
    }),
  );
}

function rowsOf(record: FaultRecord): Row[] {
  const { faults, kinds, neighbor, undelivered, apiStatuses } = record;
  const fired = faults.filter(({ firedAt }) => firedAt !== null);
  const firedKinds = new Set(fired.map(({ name }) => name)).size;
  const statuses = [...apiStatuses].sort(([one], [other]) => one - other);
  return [
    ['faults; kinds', fired.length, `${firedKinds} of ${kinds.length}`],
    ['checks of the neighbor', sum(neighbor.map(({ eventTimestamps }) => eventTimestamps.length))],
    ['undelivered before redelivery', undelivered.stored.length],
    [
      'longest unchecked, s',
      Math.max(...uncheckedSpans(record).map(({ from, until }) => until - from)) / 1_000,
    ],
    [
      'responses of the API by status',
      statuses.map(([status, count]) => `${status || 'none'}: ${count}`).join(', '),
    ],
  ];
}
