/** As RFC 5545 writes them, in the order of a week. */
export const WEEKDAYS = ['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU'] as const;
export type Weekday = (typeof WEEKDAYS)[number];

export const WEEKDAY_NAMES: Record<Weekday, string> = {
  MO: 'Monday',
  TU: 'Tuesday',
  WE: 'Wednesday',
  TH: 'Thursday',
  FR: 'Friday',
  SA: 'Saturday',
  SU: 'Sunday',
};

const ORDINALS = ['first', 'second', 'third', 'fourth', 'fifth'];

/** As `second`, `last`, `second to last`, `12th`. */
export function describeOrdinal(number: number): string {
  if (number === -1) return 'last';
  if (number < 0) return `${describeOrdinal(-number)} to last`;
  return ORDINALS[number - 1] ?? `${number}${suffix(number)}`;
}

function suffix(number: number): string {
  if (number % 100 >= 11 && number % 100 <= 13) return 'th';
  return ['th', 'st', 'nd', 'rd'][number % 10] ?? 'th';
}

/** Where a day stands in its month. @param local begins with a date, as `2026-03-14` */
export function placeInMonth(local: string): {
  readonly day: number;
  readonly weekday: Weekday;
  /** The how manieth of its weekday it is, from 1 to 5. */
  readonly nth: number;
  readonly isLastOfWeekday: boolean;
  readonly isLastDay: boolean;
} {
  const date = new Date(`${local.slice(0, 10)}T00:00Z`);
  const day = date.getUTCDate();
  const length = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();
  return {
    day,
    weekday: WEEKDAYS[(date.getUTCDay() + 6) % 7] ?? 'MO',
    nth: Math.ceil(day / 7),
    isLastOfWeekday: day + 7 > length,
    isLastDay: day === length,
  };
}
