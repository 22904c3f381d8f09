import type { Scenario } from '../scenarios/scenario.ts';

const OPTIONS = [
  ['--rate N', 'checks a second that the schedules ask for'],
  ['--interval N', 'seconds between two checks of a monitor'],
  ['--monitors N', 'number of monitors; by default rate × interval'],
  ['--checkers N', 'checker processes'],
  ['--protocol http|https', 'of the targets'],
  ['--queue redis|postgres', "the queue's store"],
  ['--seconds N', 'length of the measured window'],
  ['--events N', 'events in the table of "history"'],
  ['--profile[=service]', 'CPU profile of checker (default), api or notifier; bars are not shown'],
  ['--json FILE', 'writes machine, settings and figures'],
] as const;

export function helpText(scenarios: readonly Scenario[]): string {
  const names = scenarios.map(({ name, about }) => [name, about] as const);
  return `npm run bench -- <scenario> [options]

How many checks Tocsin does on this machine, and what each costs (docs/performance.md).

Scenarios, or "all" for one after the other:
${rows(names)}

Options; with one of the first six, bars are not shown, since they hold for the scenario as it is:
${rows(OPTIONS)}`;
}

function rows(lines: readonly (readonly [string, string])[]): string {
  const width = Math.max(...lines.map(([left]) => left.length));
  return lines.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join('\n');
}
