import { reaches, type Bar, type Figure } from './figure.ts';

/** Figures as lines for a terminal: aligned, with their bars and whether those are reached. */
export function tableOf(figures: readonly Figure[]): string {
  const rows = figures.map((figure) => [
    figure.label,
    `${formatNumber(figure.value)}${figure.unit === '' ? '' : ` ${figure.unit}`}`,
    figure.bar === undefined ? '' : formatBar(figure.bar),
    verdict(reaches(figure)),
  ]);
  const widths = [0, 1, 2].map((column) => Math.max(0, ...rows.map((row) => (row[column] ?? '').length)));
  const lines = rows.map(([label = '', value = '', bar = '', reached = '']) => {
    const [first = 0, second = 0, third = 0] = widths;
    return `  ${label.padEnd(first)}  ${value.padStart(second)}  ${bar.padEnd(third)}  ${reached}`.trimEnd();
  });
  return lines.join('\n');
}

/** Three digits that count, as 12,345 or 0.123; `–` for what was not measured. */
export function formatNumber(value: number): string {
  if (Number.isNaN(value)) return '–';
  const size = Math.abs(value);
  const digits = size >= 100 || Number.isInteger(value) ? 0 : size >= 10 ? 1 : size >= 0.1 ? 2 : 3;
  return value.toLocaleString('en-US', { maximumFractionDigits: digits });
}

function formatBar({ atMost, atLeast }: Bar): string {
  const parts = [
    ...(atLeast === undefined ? [] : [`≥ ${formatNumber(atLeast)}`]),
    ...(atMost === undefined ? [] : [`≤ ${formatNumber(atMost)}`]),
  ];
  return parts.join(', ');
}

function verdict(reached: boolean | null): string {
  if (reached === null) return '';
  return reached ? 'reached' : 'NOT REACHED';
}
