import { NumberInput, SimpleGrid, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { LIMITS } from '@tocsin/contracts/limits';
import type { ReactNode } from 'react';
import { Panel } from '../../components/page.tsx';
import type { MonitorForm } from './use-monitor-form.ts';

const WHOLE = { clampBehavior: 'none', allowDecimal: false } as const;

/** When a check passes, and when failed ones count. */
export function UpSection({ form }: { readonly form: MonitorForm }): ReactNode {
  return (
    <Panel title="What counts as up">
      <Stack>
        <Text size="sm" c="var(--text-quiet)">
          A check passes if an answer from 200 to 399 comes in time. Whatever you fill in here must be right
          too.
        </Text>
        <SimpleGrid cols={{ base: 1, xs: 2 }}>
          <NumberInput
            label="Status code"
            description="Exactly this one."
            placeholder="200 to 399"
            min={100}
            max={599}
            {...WHOLE}
            {...form.getInputProps('assertions.statusCode')}
          />
          <NumberInput
            label="Latency, in ms at most"
            description="Of the whole exchange."
            placeholder="Any"
            min={1}
            max={LIMITS.maxLatencyMs}
            step={100}
            {...WHOLE}
            {...form.getInputProps('assertions.maxLatency')}
          />
          <NumberInput
            label="Certificate, in days at least"
            description="For how long it must still be valid."
            placeholder="Any"
            min={1}
            max={LIMITS.certificateMinDays}
            {...WHOLE}
            {...form.getInputProps('assertions.certificateMinDays')}
          />
          <NumberInput
            label="Down after, in failures in a row"
            description="After so many a region counts as failing."
            min={LIMITS.failureThreshold.min}
            max={LIMITS.failureThreshold.max}
            required
            {...WHOLE}
            {...form.getInputProps('failureThreshold')}
          />
        </SimpleGrid>
        <Textarea
          label="Body contains"
          description="Looked for in the first MiB."
          autosize
          maxRows={6}
          spellCheck={false}
          {...form.getInputProps('assertions.bodyContains')}
        />
        <Textarea
          label="Body does not contain"
          autosize
          maxRows={6}
          spellCheck={false}
          {...form.getInputProps('assertions.bodyNotContains')}
        />
      </Stack>
    </Panel>
  );
}

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
