import { Button, Group, SimpleGrid, Stack, TextInput } from '@mantine/core';
import { type ReactNode, useRef, useState } from 'react';
import { formatSpan } from '../components/format.ts';
import { TimeZoneSelect } from '../components/time-zone-select.tsx';
import { momentsAt, readerZone } from '../components/zoned-time.ts';
import { DURATION_EXAMPLES } from './duration.ts';
import {
  lengthOf,
  type WindowFieldsProps,
  type WindowValues,
  withDuration,
  withLength,
  withStart,
} from './window-values.ts';

const DURATIONS_MS = [30, 60, 120, 240, 480].map((minutes) => minutes * 60_000);

export function ScheduleFields({ form, errors }: WindowFieldsProps): ReactNode {
  const { values } = form;
  const { timeZone } = values;
  const lengthMs = useRef<number | null>(null);
  const reader = readerZone();
  return (
    <Stack>
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        {(['startsAt', 'endsAt'] as const).map((field) => (
          <TextInput
            key={field}
            type="datetime-local"
            label={field === 'startsAt' ? 'Starts' : 'Ends'}
            description={
              (momentsAt(values[field], timeZone)?.length ?? 0) > 1 &&
              'This time occurs twice on that day. The first occurrence is used.'
            }
            // The optional description goes below the inputs, so that it does not move them.
            inputWrapperOrder={['label', 'input', 'description', 'error']}
            required
            {...form.getInputProps(field)}
            onChange={(event) => {
              const time = event.currentTarget.value;
              if (field === 'endsAt') return setTimes(form, { ...values, endsAt: time, duration: null });
              // A partly typed start has no length, so the last known length applies.
              lengthMs.current = lengthOf(values) ?? lengthMs.current;
              setTimes(form, withStart(values, time, lengthMs.current));
            }}
            error={errors[field]}
          />
        ))}
      </SimpleGrid>
      <DurationInput form={form} errors={errors} />
      <TimeZoneSelect
        description={`${timeZone === reader ? 'Your time zone.' : `Your time zone is ${reader}.`} A recurring window keeps its local start and end when the clocks change.`}
        value={timeZone}
        onChange={(zone) => {
          form.setFieldValue('timeZone', zone);
          // A time may exist in one zone but not in another.
          form.validateField('startsAt');
          form.validateField('endsAt');
        }}
        error={errors['timeZone']}
      />
    </Stack>
  );
}

/** Sets each field separately, because that validates it. */
function setTimes(
  form: WindowFieldsProps['form'],
  { startsAt, endsAt, duration }: Pick<WindowValues, 'startsAt' | 'endsAt' | 'duration'>,
): void {
  form.setFieldValue('startsAt', startsAt);
  form.setFieldValue('endsAt', endsAt);
  form.setFieldValue('duration', duration);
}

/** A text field and buttons for a duration. Invalid text stays as typed, with an error. */
function DurationInput({ form, errors }: WindowFieldsProps): ReactNode {
  const { values } = form;
  const valueMs = lengthOf(values);
  /** The text during input. Afterwards, a valid duration is shown in its standard format. */
  const [typed, setTyped] = useState<string | null>(null);
  const known = valueMs !== null && valueMs > 0 ? formatSpan(valueMs / 1_000, 4) : '';
  return (
    <div>
      <TextInput
        label="Duration"
        description={`Sets the end. Examples: ${DURATION_EXAMPLES}.`}
        value={typed ?? values.duration ?? known}
        onChange={(event) => {
          const text = event.currentTarget.value;
          setTyped(text);
          setTimes(form, withDuration(values, text));
        }}
        onBlur={() => setTyped(null)}
        error={errors['duration']}
      />
      <Group gap={4} mt={6}>
        {DURATIONS_MS.map((durationMs) => (
          <Button
            key={durationMs}
            size="compact-xs"
            variant="default"
            aria-pressed={durationMs === valueMs}
            onClick={() => setTimes(form, withLength(values, durationMs))}
          >
            {formatSpan(durationMs / 1_000)}
          </Button>
        ))}
      </Group>
    </div>
  );
}
