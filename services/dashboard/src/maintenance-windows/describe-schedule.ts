import { formatUtcSpan } from '../components/format-time.ts';
import { toLocal } from '../components/zoned-time.ts';
import { describeRrule } from './describe-rrule.ts';
import { formatDuration } from './duration.ts';
import { formatMoment } from './format-moment.ts';
import type { Schedule } from './occurrences.ts';

/** When a window takes place the first time, by UTC. */
export function describeScheduleUtc({ startsAt, endsAt, rrule }: Schedule): string {
  const span = formatUtcSpan(new Date(startsAt), new Date(endsAt));
  return rrule === null ? span : `The first: ${span}`;
}

/** When a window takes place, as a sentence. */
export function describeSchedule({ startsAt, endsAt, rrule, timeZone }: Schedule): string {
  const length = formatDuration(Date.parse(endsAt) - Date.parse(startsAt));
  if (rrule === null) return `Once, on ${formatMoment(startsAt, timeZone)} (${timeZone}), for ${length}.`;
  const sentence = describeRrule(rrule, timeZone) ?? `By the rule ${rrule}`;
  // Every so many hours has no time of day.
  const time = rrule.includes('HOURLY') || rrule.includes('BYHOUR') ? 'from' : 'at';
  const clock = toLocal(Date.parse(startsAt), timeZone).slice(11, 16);
  return `${sentence}, ${time} ${clock} (${timeZone}), for ${length} each.`;
}
