import { Button, Group, NumberInput } from '@mantine/core';
import { LIMITS } from '@tocsin/contracts/limits';
import type { ReactNode } from 'react';
import type { MonitorForm } from './use-monitor-form.ts';

const PRESETS = [
  { seconds: 30, label: '30 s' },
  { seconds: 60, label: '1 min' },
  { seconds: 300, label: '5 min' },
  { seconds: 900, label: '15 min' },
  { seconds: 3_600, label: '1 h' },
] as const;

export function IntervalInput({ form }: { readonly form: MonitorForm }): ReactNode {
  const { min, max } = LIMITS.intervalSeconds;
  return (
    <div>
      <NumberInput
        label="Interval, in seconds"
        description="How often each region checks."
        min={min}
        max={max}
        clampBehavior="none"
        allowDecimal={false}
        required
        {...form.getInputProps('interval')}
      />
      <Group gap={6} mt={6} role="group" aria-label="Usual intervals">
        {PRESETS.map(({ seconds, label }) => {
          const isOn = form.values.interval === seconds;
          return (
            <Button
              key={seconds}
              size="compact-sm"
              variant={isOn ? 'filled' : 'default'}
              aria-pressed={isOn}
              onClick={() => form.setFieldValue('interval', seconds)}
            >
              {label}
            </Button>
          );
        })}
      </Group>
    </div>
  );
}
