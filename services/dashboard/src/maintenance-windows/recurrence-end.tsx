import { Group, NumberInput, Select, TextInput } from '@mantine/core';
import type { ReactNode } from 'react';
import type { WindowFormState } from './use-window-form.ts';

const ENDS = [
  { value: 'never', label: 'Never' },
  { value: 'until', label: 'After a day' },
  { value: 'count', label: 'After a number of times' },
] as const;

/** When a recurring window ends for good. */
export function RecurrenceEnd({ form }: { readonly form: WindowFormState }): ReactNode {
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
