import { Button, Group, type InputWrapperProps, Select, SimpleGrid, Stack, TextInput } from '@mantine/core';
import { type ReactNode, useMemo, useRef, useState } from 'react';
import { fromLocal, readerZone, timeZones } from '../components/zoned-time.ts';
import { formatDuration, lengthOf, parseDuration, withLength, withStart } from './window-values.ts';
import type { WindowFormState } from './window-values.ts';

/** A description comes and goes: below, so that the fields stay side by side. */
const ORDER: NonNullable<InputWrapperProps['inputWrapperOrder']> = ['label', 'input', 'description', 'error'];
const TWICE = 'The clocks show this time twice that day; the first is meant.';

/** When a window takes place for the first time. */
export function ScheduleFields({ form }: { readonly form: WindowFormState }): ReactNode {
  const { values, errors } = form;
  const { startsAt, endsAt, timeZone } = values;
  const length = useRef<number | null>(null);
  return (
    <Stack>
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <TextInput
          type="datetime-local"
          label="Starts"
          description={fromLocal(startsAt, timeZone)?.twice === true ? TWICE : undefined}
          inputWrapperOrder={ORDER}
          required
          {...form.getInputProps('startsAt')}
          onChange={(event) => {
            // While a start is typed there is none for moments, and no length.
            length.current = lengthOf(values) ?? length.current;
            const moved = withStart(values, event.currentTarget.value, length.current);
            form.setFieldValue('startsAt', moved.startsAt);
            form.setFieldValue('endsAt', moved.endsAt);
          }}
          error={errors['startsAt']}
        />
        <TextInput
          type="datetime-local"
          label="Ends"
          description={fromLocal(endsAt, timeZone)?.twice === true ? TWICE : undefined}
          inputWrapperOrder={ORDER}
          required
          {...form.getInputProps('endsAt')}
        />
      </SimpleGrid>
      <DurationInput
        valueMs={lengthOf(values)}
        onChange={(lengthMs) => form.setFieldValue('endsAt', withLength(values, lengthMs).endsAt)}
      />
      <TimeZoneSelect
        value={timeZone}
        onChange={(zone) => {
          form.setFieldValue('timeZone', zone);
          // A time may exist in one zone and not in another.
          form.validateField('startsAt');
          form.validateField('endsAt');
        }}
        error={errors['timeZone']}
      />
    </Stack>
  );
}

const CHOICES = [30, 60, 120, 240, 480].map((minutes) => minutes * 60_000);

interface DurationInputProps {
  /** Null or not positive: not known. */
  readonly valueMs: number | null;
  readonly onChange: (lengthMs: number) => void;
}

/** How long a window lasts: typed, or one of the usual. */
function DurationInput({ valueMs, onChange }: DurationInputProps): ReactNode {
  /** What is being typed; null: nothing. */
  const [typed, setTyped] = useState<string | null>(null);
  const shown = valueMs !== null && valueMs > 0 ? formatDuration(valueMs) : '';
  return (
    <div>
      <TextInput
        label="Lasts"
        description="As 90 min, 2 h or 1 d 4 h: it sets the end."
        value={typed ?? shown}
        onChange={(event) => {
          const text = event.currentTarget.value;
          setTyped(text);
          const lengthMs = parseDuration(text);
          if (lengthMs !== null) onChange(lengthMs);
        }}
        onBlur={() => setTyped(null)}
        error={
          typed !== null && typed !== '' && parseDuration(typed) === null && 'Such as 90 min, 2 h or 1 d'
        }
        autoComplete="off"
      />
      <Group gap={4} mt={6}>
        {CHOICES.map((choice) => (
          <Button
            key={choice}
            size="compact-xs"
            variant={choice === valueMs ? 'light' : 'default'}
            aria-pressed={choice === valueMs}
            onClick={() => onChange(choice)}
          >
            {formatDuration(choice)}
          </Button>
        ))}
      </Group>
    </div>
  );
}

interface TimeZoneSelectProps {
  readonly value: string;
  readonly onChange: (zone: string) => void;
  readonly error: ReactNode;
}

/** Every time zone, found by typing a part of its name. */
function TimeZoneSelect({ value, onChange, error }: TimeZoneSelectProps): ReactNode {
  const reader = readerZone();
  const zones = useMemo(() => timeZones(value, reader), [value, reader]);
  return (
    <Select
      label="Time zone"
      description={
        value === reader
          ? 'Yours. A recurring window keeps its local time when clocks change.'
          : `Yours is ${reader}. A recurring window keeps its local time when clocks change.`
      }
      data={zones}
      value={value}
      onChange={(zone) => zone !== null && onChange(zone)}
      searchable
      allowDeselect={false}
      maxDropdownHeight={260}
      nothingFoundMessage="No such time zone"
      error={error}
    />
  );
}
