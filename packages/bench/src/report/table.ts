import { alignRows } from '@tocsin/lab/options';
import type { Bar, Figure } from './figure.ts';

/** Figures as lines for a terminal: aligned, with their bars and whether those are reached. */
export function tableOf(figures: readonly Figure[]): string {
  const values = figures.map(({ value, unit }) => `${formatNumber(value)} ${unit}`.trimEnd());
  const width = Math.max(0, ...values.map(({ length }) => length));
  return alignRows(
    figures.map((figure, index) => [
      figure.label,
      (values[index] ?? '').padStart(width),
      ...(figure.bar === undefined ? ['', ''] : compare(figure.value, figure.bar)),
    ]),
  );
}

/** Three significant digits, such as 12,345 or 0.123; `–` for a value that was not measured. */
export function formatNumber(value: number): string {
  if (Number.isNaN(value)) return '–';
  const size = Math.abs(value);
  const digits = size >= 100 || Number.isInteger(value) ? 0 : size >= 10 ? 1 : size >= 0.1 ? 2 : 3;
  return value.toLocaleString('en-US', { maximumFractionDigits: digits });
}

/** The bar, and whether the value reaches it. A value that was not measured does not. */
function compare(value: number, { atMost, atLeast }: Bar): string[] {
  const limits = [
    ...(atLeast === undefined ? [] : [`≥ ${formatNumber(atLeast)}`]),
    ...(atMost === undefined ? [] : [`≤ ${formatNumber(atMost)}`]),
  ];
  const isReached = value <= (atMost ?? Infinity) && value >= (atLeast ?? -Infinity);
  return [limits.join(', '), isReached ? 'reached' : 'NOT REACHED'];
}
