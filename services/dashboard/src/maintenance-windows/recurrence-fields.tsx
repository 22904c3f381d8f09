import { Chip, Group, Input, NumberInput, Radio, Select, Stack, TextInput } from '@mantine/core';
import type { ReactNode } from 'react';
import { Quiet } from '../components/quiet.tsx';
import {
  dayInMonth,
  REPEATS,
  toRrule,
  WEEKDAY_NAMES,
  WEEKDAYS,
  type MonthlyOn,
  type Repeat,
} from './recurrence.ts';
import { describeOrdinal } from './schedule-text.ts';
import type { WindowFormState } from './window-values.ts';

const REPEAT_LABELS: Record<Repeat, string> = {
  once: 'Does not repeat',
  daily: 'Daily',
  weekly: 'Weekly',
  monthly: 'Monthly',
  custom: 'Custom rule (RRULE)',
};
const UNITS = { daily: 'days', weekly: 'weeks', monthly: 'months' } as const;
const ENDS = [
  { value: 'never', label: 'Never' },
  { value: 'until', label: 'On a date' },
  { value: 'count', label: 'After a number of occurrences' },
] as const;

interface RecurrenceFieldsProps {
  readonly form: WindowFormState;
}

/** How a window recurs. */
export function RecurrenceFields({ form }: RecurrenceFieldsProps): ReactNode {
  const { values, errors } = form;
  const { repeat } = values;
  const setRepeat = (next: Repeat): void => {
    // Start from the rule of the previous choices.
    if (next === 'custom' && values.rrule === '')
      form.setFieldValue('rrule', toRrule(values, values.startsAt, values.timeZone) ?? 'FREQ=WEEKLY');
    form.setFieldValue('repeat', next);
  };
  return (
    <Stack>
      <Select
        label="Repeats"
        data={REPEATS.map((value) => ({ value, label: REPEAT_LABELS[value] }))}
        value={repeat}
        onChange={(value) => setRepeat(REPEATS.find((one) => one === value) ?? 'once')}
        allowDeselect={false}
        error={repeat !== 'custom' && errors['rrule']}
      />
      {repeat === 'custom' && (
        <TextInput
          label="Rule"
          description="An RFC 5545 rule without DTSTART, such as FREQ=WEEKLY;BYDAY=SA. FREQ is HOURLY, DAILY, WEEKLY, MONTHLY or YEARLY."
          required
          autoComplete="off"
          spellCheck={false}
          styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
          {...form.getInputProps('rrule')}
        />
      )}
      {repeat !== 'once' && repeat !== 'custom' && (
        <>
          <IntegerInput form={form} field="every" label={`Interval, in ${UNITS[repeat]}`} max={1_000} />
          {repeat === 'weekly' && <WeeklyDays form={form} />}
          {repeat === 'monthly' && <MonthlyDay form={form} />}
          <RecurrenceEnd form={form} />
        </>
      )}
    </Stack>
  );
}

interface IntegerInputProps extends RecurrenceFieldsProps {
  readonly field: 'every' | 'count';
  readonly label: string;
  readonly max: number;
}

/** A number from 1; 0 while it is empty. */
function IntegerInput({ form, field, label, max }: IntegerInputProps): ReactNode {
  return (
    <NumberInput
      label={label}
      min={1}
      max={max}
      allowDecimal={false}
      w={220}
      value={form.values[field] === 0 ? '' : form.values[field]}
      onChange={(value) => form.setFieldValue(field, Number(value))}
      error={form.errors[field]}
    />
  );
}

function WeeklyDays({ form }: RecurrenceFieldsProps): ReactNode {
  const { days, startsAt } = form.values;
  const { weekday } = dayInMonth(startsAt);
  return (
    <div role="group" aria-label="On these days">
      <Input.Label component="span">On</Input.Label>
      <Chip.Group
        multiple
        value={days.length === 0 ? [weekday] : [...days]}
        onChange={(chosen) =>
          form.setFieldValue(
            'days',
            WEEKDAYS.filter((day) => chosen.includes(day)),
          )
        }
      >
        <Group gap={6} mt={4}>
          {WEEKDAYS.map((day) => (
            <Chip key={day} value={day} size="sm" aria-label={WEEKDAY_NAMES[day]}>
              {WEEKDAY_NAMES[day].slice(0, 3)}
            </Chip>
          ))}
        </Group>
      </Chip.Group>
      {days.length > 0 && !days.includes(weekday) && (
        <Quiet size="xs" mt={6}>
          The first occurrence is on the start date, a {WEEKDAY_NAMES[weekday]}. The rule applies from then
          on.
        </Quiet>
      )}
    </div>
  );
}

/** The choices that match the start date. */
function MonthlyDay({ form }: RecurrenceFieldsProps): ReactNode {
  const { startsAt, monthlyOn } = form.values;
  const { day, weekday, nth, isLastDay, isLastOfWeekday } = dayInMonth(startsAt);
  if (Number.isNaN(day)) return null;
  const name = WEEKDAY_NAMES[weekday];
  const choices: { value: MonthlyOn; label: string; shown: boolean }[] = [
    { value: 'day', label: `On day ${day}`, shown: true },
    { value: 'last-day', label: 'On the last day', shown: isLastDay },
    { value: 'nth', label: `On the ${describeOrdinal(nth)} ${name}`, shown: true },
    { value: 'last', label: `On the last ${name}`, shown: isLastOfWeekday },
  ];
  return (
    <Radio.Group
      label="On"
      description="Choices that match the start date."
      value={monthlyOn}
      onChange={(value) =>
        form.setFieldValue('monthlyOn', choices.find((one) => one.value === value)?.value ?? 'day')
      }
    >
      <Stack gap={6} mt={6}>
        {choices
          .filter(({ value, shown }) => shown || value === monthlyOn)
          .map(({ value, label }) => (
            <Radio key={value} value={value} label={label} />
          ))}
      </Stack>
    </Radio.Group>
  );
}

function RecurrenceEnd({ form }: RecurrenceFieldsProps): ReactNode {
  const { ends } = form.values;
  return (
    <Group align="flex-start">
      <Select
        label="Stops repeating"
        data={ENDS}
        value={ends}
        onChange={(value) =>
          form.setFieldValue('ends', ENDS.find((one) => one.value === value)?.value ?? 'never')
        }
        allowDeselect={false}
        w={260}
      />
      {ends === 'until' && (
        <TextInput type="date" label="Last day" required {...form.getInputProps('until')} />
      )}
      {ends === 'count' && (
        <IntegerInput form={form} field="count" label="Occurrences, including the first" max={366} />
      )}
    </Group>
  );
}
