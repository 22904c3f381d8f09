import { Chip, Group, Input, NumberInput, Radio, Select, Stack, TextInput } from '@mantine/core';
import type { ReactNode } from 'react';
import { Quiet } from '../components/text.tsx';
import { dayInMonth, REPEATS, toRrule, WEEKDAY_NAMES, WEEKDAYS } from './recurrence.ts';
import { describeOrdinal } from './schedule-text.ts';
import type { WindowFieldsProps } from './window-values.ts';

const REPEAT_LABELS = {
  once: 'Does not repeat',
  daily: 'Daily',
  weekly: 'Weekly',
  monthly: 'Monthly',
  custom: 'Custom rule (RRULE)',
};
const UNITS = { daily: 'days', weekly: 'weeks', monthly: 'months' };
const ENDS = [
  { value: 'never', label: 'Never' },
  { value: 'until', label: 'On a date' },
  { value: 'count', label: 'After a number of occurrences' },
];

export function RecurrenceFields({ form, errors }: WindowFieldsProps): ReactNode {
  const { values } = form;
  const { repeat, ends } = values;
  return (
    <Stack>
      <Select
        label="Repeats"
        data={REPEATS.map((value) => ({ value, label: REPEAT_LABELS[value] }))}
        allowDeselect={false}
        value={repeat}
        onChange={(value) => {
          // A custom rule starts with the rule of the previous choices.
          if (value === 'custom' && values.rrule === '')
            form.setFieldValue('rrule', toRrule(values, values.startsAt, values.timeZone) ?? 'FREQ=WEEKLY');
          form.setFieldValue('repeat', value ?? 'once');
        }}
        error={repeat !== 'custom' && errors['rrule']}
      />
      {repeat === 'custom' && (
        <TextInput
          label="Rule"
          description="An RFC 5545 rule without DTSTART, such as FREQ=WEEKLY;BYDAY=SA. FREQ is HOURLY, DAILY, WEEKLY, MONTHLY or YEARLY."
          required
          spellCheck={false}
          styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
          {...form.getInputProps('rrule')}
          error={errors['rrule']}
        />
      )}
      {repeat !== 'once' && repeat !== 'custom' && (
        <>
          <NumberInput
            label={`Interval (${UNITS[repeat]})`}
            min={1}
            max={1_000}
            allowDecimal={false}
            w={220}
            {...form.getInputProps('every')}
          />
          {repeat === 'weekly' && <WeeklyDays form={form} />}
          {repeat === 'monthly' && <MonthlyDay form={form} />}
          <Group align="flex-start">
            <Select
              label="Stops repeating"
              data={ENDS}
              allowDeselect={false}
              w={260}
              {...form.getInputProps('ends')}
            />
            {ends === 'until' && (
              <TextInput type="date" label="Last day" required {...form.getInputProps('until')} />
            )}
            {ends === 'count' && (
              <NumberInput
                label="Occurrences, including the first"
                min={1}
                max={366}
                allowDecimal={false}
                w={220}
                {...form.getInputProps('count')}
              />
            )}
          </Group>
        </>
      )}
    </Stack>
  );
}

function WeeklyDays({ form }: Pick<WindowFieldsProps, 'form'>): ReactNode {
  const { days, startsAt } = form.values;
  const { weekday } = dayInMonth(startsAt);
  return (
    <div role="group" aria-label="On these days">
      <Input.Label component="span">On</Input.Label>
      <Chip.Group
        multiple
        value={days.length === 0 ? [weekday] : [...days]}
        onChange={(chosen) => form.setFieldValue('days', chosen)}
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

/** Choices that match the start date, and the current choice. */
function MonthlyDay({ form }: Pick<WindowFieldsProps, 'form'>): ReactNode {
  const { startsAt, monthlyOn } = form.values;
  const { day, weekday, nth, isLastDay, isLastOfWeekday } = dayInMonth(startsAt);
  if (Number.isNaN(day)) return null;
  const name = WEEKDAY_NAMES[weekday];
  const choices = [
    { value: 'day', label: `On day ${day}`, matches: true },
    { value: 'last-day', label: 'On the last day', matches: isLastDay },
    { value: 'nth', label: `On the ${describeOrdinal(nth)} ${name}`, matches: true },
    { value: 'last', label: `On the last ${name}`, matches: isLastOfWeekday },
  ];
  return (
    <Radio.Group
      label="On"
      description="Choices that match the start date."
      {...form.getInputProps('monthlyOn')}
    >
      <Stack gap={6} mt={6}>
        {choices.map(
          ({ value, label, matches }) =>
            (matches || value === monthlyOn) && <Radio key={value} value={value} label={label} />,
        )}
      </Stack>
    </Radio.Group>
  );
}
