import type { ReactNode } from 'react';
import { describeSchedule, describeScheduleUtc } from './describe-schedule.ts';
import type { Schedule } from './occurrences.ts';

/** When a window takes place, by the clocks of its zone; UTC on hover. */
export function ScheduleSentence({ schedule }: { readonly schedule: Schedule }): ReactNode {
  return <span title={describeScheduleUtc(schedule)}>{describeSchedule(schedule)}</span>;
}
