import type { Usage } from '../measure/proc.ts';
import { figure, type Figure } from '../report/figure.ts';

type UsageOf = ReadonlyMap<string, Usage>;

const STORES = ['redis', 'postgres'];
const OTHERS = ['api', 'notifier'];

/** CPU time per check, µs: the sum of checkers and stores, and each program. Several checkers count as one. */
export function cpuPerCheck(usage: UsageOf, checks: number): Figure[] {
  const stores = STORES.filter((name) => usage.has(name));
  const checkers = checkersOf(usage);
  const micros = (names: readonly string[]): number =>
    names.reduce((sum, name) => sum + (usage.get(name)?.cpuMs ?? 0) * 1_000, 0) / checks;
  return [
    figure('cpu', 'CPU per check, checker and stores', micros([...checkers, ...stores]), 'µs'),
    figure('cpu-checker', '  checker', micros(checkers), 'µs'),
    ...[...stores, ...OTHERS].map((name) => figure(`cpu-${name}`, `  ${name}`, micros([name]), 'µs')),
    figure('cpu-target', '  (the target, not of the system)', micros(['web-target']), 'µs'),
  ];
}

export function memoryFigures(usage: UsageOf): Figure[] {
  return [...checkersOf(usage), ...STORES, ...OTHERS].flatMap((name) => {
    const used = usage.get(name);
    const key = `rss-${name.replaceAll(' ', '-')}`;
    return used ? [figure(key, `memory of ${name}`, used.rssBytes / 1_000_000, 'MB')] : [];
  });
}

function checkersOf(usage: UsageOf): string[] {
  return [...usage.keys()].filter((name) => name.startsWith('checker'));
}
