import type { Span } from '@tocsin/lab/slots';
import { figure, type Figure } from '../report/figure.ts';
import type { Stage } from '../stage.ts';
import type { Usages } from './proc.ts';

const STORES = ['redis', 'postgres'];
const OTHERS = ['api', 'notifier'];

/** Resource usage of the programs during some work. CPU time covers the span, and memory is measured at its end. */
export interface MeasuredWindow<Result = void> {
  readonly result: Result;
  /** Epoch milliseconds. */
  readonly span: Span;
  readonly usage: Usages;
}

export async function measureUsage<Result>(
  stage: Pick<Stage, 'usage'>,
  work: () => Promise<Result>,
): Promise<MeasuredWindow<Result>> {
  const before = stage.usage();
  const from = Date.now();
  const result = await work();
  return { result, span: { from, to: Date.now() }, usage: usageBetween(before, stage.usage()) };
}

/** Subtracts CPU times. Memory is that of the later reading. */
function usageBetween(before: Usages, after: Usages): Usages {
  return new Map(
    [...after].map(([name, usage]) => [
      name,
      { ...usage, cpuMs: usage.cpuMs - (before.get(name)?.cpuMs ?? 0) },
    ]),
  );
}

/** Adds CPU times. Memory is that of the last window. */
export function sumUsage(windows: readonly Usages[]): Usages {
  return new Map(
    [...(windows.at(-1) ?? [])].map(([name, last]) => {
      const cpuMs = windows.reduce((sum, usage) => sum + (usage.get(name)?.cpuMs ?? 0), 0);
      return [name, { ...last, cpuMs }];
    }),
  );
}

/** Returns the CPU time of some programs in µs. Several processes of a service, such as `checker 1`, count as one program. */
export function cpuMicros(usage: Usages, programs: readonly string[]): number {
  return [...usage].reduce(
    (sum, [name, { cpuMs }]) => sum + (programs.includes(name.split(' ', 1)[0] ?? '') ? cpuMs * 1_000 : 0),
    0,
  );
}

/** Reports the CPU time per check in µs, for checkers, agents and stores together and for each program. */
export function cpuPerCheck(usage: Usages, checks: number): Figure[] {
  const stores = STORES.filter((name) => usage.has(name));
  const micros = (...programs: readonly string[]): number => cpuMicros(usage, programs) / checks;
  return [
    figure('cpu', 'CPU per check, checker and stores', micros('checker', 'agent', ...stores), 'µs'),
    ...['checker', ...(usage.has('agent') ? ['agent'] : []), ...stores, ...OTHERS].map((name) =>
      figure(`cpu-${name}`, `  ${name}`, micros(name), 'µs'),
    ),
    figure('cpu-target', '  (the target, not of the system)', micros('target'), 'µs'),
  ];
}
