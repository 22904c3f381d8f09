import { type InputWrapperProps, SimpleGrid, Stack, TextInput } from '@mantine/core';
import { useRef, type ReactNode } from 'react';
import { fromLocal } from '../components/zoned-time.ts';
import { DurationInput } from './duration-input.tsx';
import { TimeZoneSelect } from './time-zone-select.tsx';
import type { WindowFormState } from './use-window-form.ts';
import { lengthOf, withLength, withStart } from './window-values.ts';

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
