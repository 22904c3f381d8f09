import { Button, Group, NumberInput, SimpleGrid, Stack, TagsInput, Text } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { LIMITS } from '@tocsin/contracts/limits';
import type { ReactNode } from 'react';
import { Panel } from '../../components/page.tsx';
import { labelDefaultRegion, regionsQuery } from '../../regions/regions.ts';
import { useDefaultRegion } from '../../session/session.ts';
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

/** Known regions are offered; any other may be typed, as its checkers may come later. */
export function RegionsInput({ form }: { readonly form: MonitorForm }): ReactNode {
  const { data: known = [], isSuccess } = useQuery({ ...regionsQuery, refetchInterval: false });
  const defaultRegion = useDefaultRegion();
  const served = new Set(known.filter((region) => region.served !== false).map(({ region }) => region));
  const waiting = isSuccess ? form.values.regions.filter((region) => !served.has(region)) : [];
  return (
    <div>
      <TagsInput
        label="Regions"
        description={`Each checks on its own. Without any: ${labelDefaultRegion(defaultRegion)}.`}
        placeholder={form.values.regions.length === 0 ? 'eu-west, us-east' : ''}
        data={known.map(({ region }) => region)}
        splitChars={[',', ' ']}
        clearable
        clearButtonProps={{ 'aria-label': 'Clear the regions' }}
        {...form.getInputProps('regions')}
      />
      {waiting.length > 0 && (
        <Group gap={6} mt={6} wrap="nowrap" role="status">
          <IconAlertTriangle size={16} aria-hidden />
          <Text size="xs">
            No checker takes checks in {waiting.join(', ')} now: they begin when one does.
          </Text>
        </Group>
      )}
    </div>
  );
}
