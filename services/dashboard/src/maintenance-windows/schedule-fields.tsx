import { Button, Group, Select, SimpleGrid, Stack, TextInput } from '@mantine/core';
import { type ReactNode, useMemo, useRef, useState } from 'react';
import { formatSpan } from '../components/format.ts';
import { momentsAt, readerZone, timeZones } from '../components/zoned-time.ts';
import { lengthOf, parseDuration, type WindowFieldsProps, withLength, withStart } from './window-values.ts';

const DURATIONS_MS = [30, 60, 120, 240, 480].map((minutes) => minutes * 60_000);
const DURATION_EXAMPLES = 'Examples: 90 min, 2 h, 1 d 4 h.';

/** The first occurrence of a window. */
export function ScheduleFields({ form, errors }: WindowFieldsProps): ReactNode {
  const { values } = form;
  const { timeZone } = values;
  const lengthMs = useRef<number | null>(null);
  const reader = readerZone();
  const zones = useMemo(() => timeZones(timeZone, reader), [timeZone, reader]);
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
            // The description comes and goes. Below the inputs it does not move them.
            inputWrapperOrder={['label', 'input', 'description', 'error']}
            required
            {...form.getInputProps(field)}
            {...(field === 'startsAt' && {
              onChange: (event) => {
                // A half-typed start has no length, so the last known one applies.
                lengthMs.current = lengthOf(values) ?? lengthMs.current;
                const moved = withStart(values, event.currentTarget.value, lengthMs.current);
                form.setFieldValue('startsAt', moved.startsAt);
                form.setFieldValue('endsAt', moved.endsAt);
              },
            })}
            error={errors[field]}
          />
        ))}
      </SimpleGrid>
      <DurationInput
        valueMs={lengthOf(values)}
        onChange={(ms) => form.setFieldValue('endsAt', withLength(values, ms).endsAt)}
      />
      <Select
        label="Time zone"
        description={`${timeZone === reader ? 'Your time zone.' : `Your time zone is ${reader}.`} A recurring window keeps its local time when the clocks change.`}
        data={zones}
        value={timeZone}
        onChange={(zone) => {
          form.setFieldValue('timeZone', zone ?? timeZone);
          // A time can exist in one zone and not in another.
          form.validateField('startsAt');
          form.validateField('endsAt');
        }}
        searchable
        allowDeselect={false}
        maxDropdownHeight={260}
        nothingFoundMessage="No matching time zones"
        error={errors['timeZone']}
      />
    </Stack>
  );
}

interface DurationInputProps {
  /** Null or not positive: unknown. */
  readonly valueMs: number | null;
  readonly onChange: (durationMs: number) => void;
}

/** A duration to type, or one of the usual ones. */
function DurationInput({ valueMs, onChange }: DurationInputProps): ReactNode {
  /** Null unless the user is typing. */
  const [typed, setTyped] = useState<string | null>(null);
  const isInvalid = typed !== null && typed !== '' && parseDuration(typed) === null;
  return (
    <div>
      <TextInput
        label="Duration"
        description={`Sets the end. ${DURATION_EXAMPLES}`}
        value={typed ?? (valueMs !== null && valueMs > 0 ? formatSpan(valueMs / 1_000, 4) : '')}
        onChange={(event) => {
          const text = event.currentTarget.value;
          setTyped(text);
          const durationMs = parseDuration(text);
          if (durationMs !== null) onChange(durationMs);
        }}
        onBlur={() => setTyped(null)}
        error={isInvalid && `Enter a duration. ${DURATION_EXAMPLES}`}
      />
      <Group gap={4} mt={6}>
        {DURATIONS_MS.map((durationMs) => (
          <Button
            key={durationMs}
            size="compact-xs"
            variant={durationMs === valueMs ? 'light' : 'default'}
            aria-pressed={durationMs === valueMs}
            onClick={() => onChange(durationMs)}
          >
            {formatSpan(durationMs / 1_000)}
          </Button>
        ))}
      </Group>
    </div>
  );
}
