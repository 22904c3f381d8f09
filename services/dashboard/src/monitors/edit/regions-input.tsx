import { Group, TagsInput, Text } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { labelDefaultRegion, regionsQuery } from '../../regions/regions.ts';
import { useDefaultRegion } from '../../session/session.ts';
import type { MonitorForm } from './use-monitor-form.ts';

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
