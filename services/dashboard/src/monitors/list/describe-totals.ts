import type { StatusCounts } from './arrange-monitors.ts';

/** As "3 down, 1 pending, 4,990 up"; what there is none of is left out. */
export function describeTotals({ DOWN, PENDING, MAINTENANCE, UP }: StatusCounts): string {
  if (DOWN + PENDING + MAINTENANCE + UP === 0) return 'Nothing is watched yet';
  const parts = [
    { count: DOWN, words: 'down' },
    { count: PENDING, words: 'pending' },
    { count: MAINTENANCE, words: 'in maintenance' },
    { count: UP, words: 'up' },
  ].filter(({ count }) => count > 0);
  const [only] = parts;
  if (parts.length === 1 && only?.words === 'up')
    return only.count === 1 ? 'The one monitor is up' : `All ${only.count.toLocaleString()} are up`;
  return parts.map(({ count, words }) => `${count.toLocaleString()} ${words}`).join(', ');
}
