import { alignRows } from '@tocsin/lab/options';
import type { Bar, Figure } from './figure.ts';

/** Formats figures as aligned lines, with their bars and whether they reach them. */
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

/** Formats with three significant digits, such as 12,345 or 0.123. NaN becomes `–`. */
export function formatNumber(value: number): string {
  if (Number.isNaN(value)) return '–';
  const size = Math.abs(value);
  const digits = size >= 100 || Number.isInteger(value) ? 0 : size >= 10 ? 1 : size >= 0.1 ? 2 : 3;
  return value.toLocaleString('en-US', { maximumFractionDigits: digits });
}

/** Returns the bar, and whether the value reaches it. NaN reaches no bar. */
function compare(value: number, { atMost, atLeast }: Bar): string[] {
  const limits = [
    ...(atLeast === undefined ? [] : [`≥ ${formatNumber(atLeast)}`]),
    ...(atMost === undefined ? [] : [`≤ ${formatNumber(atMost)}`]),
  ];
  const isReached = value <= (atMost ?? Infinity) && value >= (atLeast ?? -Infinity);
  return [limits.join(', '), isReached ? 'reached' : 'NOT REACHED'];
}
