import { SimpleGrid, Stack, TextInput } from '@mantine/core';
import type { ReactNode } from 'react';
import { Panel } from '../../components/panel.tsx';
import type { MonitorForm } from './use-monitor-form.ts';

/** What checks do not need. */
export function AdvancedSection({ form }: { readonly form: MonitorForm }): ReactNode {
  return (
    <Panel title="Advanced">
      <Stack>
        <TextInput
          label="Runbook URL"
          description="What to do when it is down; webhooks carry it."
          type="url"
          inputMode="url"
          placeholder="https://wiki.example.com/shop-is-down"
          autoComplete="off"
          {...form.getInputProps('runbookUrl')}
        />
        <SimpleGrid cols={{ base: 1, xs: 2 }}>
          <TextInput
            label="External id"
            description="Your own key for it, unique in the account."
            autoComplete="off"
            {...form.getInputProps('externalId')}
          />
          <TextInput
            label="Source"
            description="The set of monitors as code that it belongs to."
            autoComplete="off"
            {...form.getInputProps('source')}
          />
        </SimpleGrid>
      </Stack>
    </Panel>
  );
}
