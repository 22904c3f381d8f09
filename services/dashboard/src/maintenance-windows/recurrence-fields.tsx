import { Chip, Group, Input, NumberInput, Radio, Select, Stack, Text, TextInput } from '@mantine/core';
import type { ReactNode } from 'react';
import {
  describeOrdinal,
  type MonthlyOn,
  placeInMonth,
  type Repeat,
  REPEATS,
  toRrule,
  WEEKDAY_NAMES,
  WEEKDAYS,
} from './recurrence.ts';
import type { WindowFormState } from './window-values.ts';

const WORDS: Record<Repeat, string> = {
  once: 'Does not repeat',
  daily: 'By days',
  weekly: 'By weeks',
  monthly: 'By months',
  custom: 'By a rule (RRULE)',
};
const UNITS = { daily: 'days', weekly: 'weeks', monthly: 'months' } as const;

/** How a window recurs. */
export function RecurrenceFields({ form }: { readonly form: WindowFormState }): ReactNode {
  const { values, errors } = form;
  const { repeat } = values;
  const setRepeat = (next: Repeat): void => {
    // The rule begins as what the choices said.
    if (next === 'custom' && values.rrule === '')
      form.setFieldValue('rrule', toRrule(values, values.startsAt, values.timeZone) ?? 'FREQ=WEEKLY');
    form.setFieldValue('repeat', next);
  };
  return (
    <Stack>
      <Select
        label="Repeats"
        data={REPEATS.map((value) => ({ value, label: WORDS[value] }))}
        value={repeat}
        onChange={(value) => setRepeat(REPEATS.find((one) => one === value) ?? 'once')}
        allowDeselect={false}
        error={repeat !== 'custom' && errors['rrule']}
      />
      {repeat === 'custom' && (
        <TextInput
          label="Rule"
          description="RFC 5545 without DTSTART, such as FREQ=WEEKLY;BYDAY=SA. From HOURLY to YEARLY."
          required
          autoComplete="off"
          spellCheck={false}
          styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
          {...form.getInputProps('rrule')}
        />
      )}
      {repeat !== 'once' && repeat !== 'custom' && (
        <>
          <NumberInput
            label={`Every so many ${UNITS[repeat]}`}
            min={1}
            max={1_000}
            allowDecimal={false}
            w={180}
            value={values.every === 0 ? '' : values.every}
            onChange={(value) => form.setFieldValue('every', Number(value))}
            error={errors['every']}
          />
          {repeat === 'weekly' && <WeeklyDays form={form} />}
          {repeat === 'monthly' && <MonthlyDay form={form} />}
          <RecurrenceEnd form={form} />
        </>
      )}
    </Stack>
  );
}

function WeeklyDays({ form }: { readonly form: WindowFormState }): ReactNode {
  const { days, startsAt } = form.values;
  const { weekday } = placeInMonth(startsAt);
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
        <Text size="xs" c="var(--text-quiet)" mt={6}>
          The first one is on a {WEEKDAY_NAMES[weekday]}, as the start says, and beside the rule.
        </Text>
      )}
    </div>
  );
}

function MonthlyDay({ form }: { readonly form: WindowFormState }): ReactNode {
  const { startsAt, monthlyOn } = form.values;
  const { day, weekday, nth, isLastDay, isLastOfWeekday } = placeInMonth(startsAt);
  if (Number.isNaN(day)) return null;
  const choices: { value: MonthlyOn; label: string; shown: boolean }[] = [
    { value: 'day', label: `On day ${day}`, shown: true },
    { value: 'last-day', label: 'On the last day', shown: isLastDay },
    { value: 'nth', label: `On the ${describeOrdinal(nth)} ${WEEKDAY_NAMES[weekday]}`, shown: true },
    { value: 'last', label: `On the last ${WEEKDAY_NAMES[weekday]}`, shown: isLastOfWeekday },
  ];
  return (
    <Radio.Group
      label="On"
      description="As the day of the start."
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

const ENDS = [
  { value: 'never', label: 'Never' },
  { value: 'until', label: 'After a day' },
  { value: 'count', label: 'After a number of times' },
] as const;

/** When a recurring window ends for good. */
function RecurrenceEnd({ form }: { readonly form: WindowFormState }): ReactNode {
  const { ends, count } = form.values;
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
        w={220}
      />
      {ends === 'until' && (
        <TextInput type="date" label="Last day" required {...form.getInputProps('until')} />
      )}
      {ends === 'count' && (
        <NumberInput
          label="Times, with the first"
          min={1}
          max={366}
          allowDecimal={false}
          w={180}
          value={count === 0 ? '' : count}
          onChange={(value) => form.setFieldValue('count', Number(value))}
          error={form.errors['count']}
        />
      )}
    </Group>
  );
}
