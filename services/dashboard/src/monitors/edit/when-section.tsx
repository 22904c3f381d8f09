import { NumberInput, SimpleGrid, Stack } from '@mantine/core';
import { LIMITS } from '@tocsin/contracts/limits';
import type { ReactNode } from 'react';
import { Panel } from '../../components/panel.tsx';
import { IntervalInput } from './interval-input.tsx';
import { RegionsInput } from './regions-input.tsx';
import type { MonitorForm } from './use-monitor-form.ts';

/** How often, how long, and from where. */
export function WhenSection({ form }: { readonly form: MonitorForm }): ReactNode {
  const { min, max } = LIMITS.timeoutSeconds;
  return (
    <Panel title="When and where">
      <Stack>
        <SimpleGrid cols={{ base: 1, xs: 2 }}>
          <IntervalInput form={form} />
          <NumberInput
            label="Timeout, in seconds"
            description="For the whole exchange, redirects included."
            min={min}
            max={max}
            clampBehavior="none"
            allowDecimal={false}
            required
            {...form.getInputProps('timeout')}
          />
        </SimpleGrid>
        <RegionsInput form={form} />
      </Stack>
    </Panel>
  );
}
