import {
  Button,
  Group,
  NumberInput,
  type NumberInputProps,
  SimpleGrid,
  Stack,
  TagsInput,
  Text,
  Textarea,
  TextInput,
} from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { LIMITS } from '@tocsin/contracts/limits';
import type { ReactNode } from 'react';
import { Panel } from '../../components/page.tsx';
import { Quiet } from '../../components/text.tsx';
import { labelDefaultRegion, regionsQuery } from '../../regions/regions.ts';
import { useDefaultRegion } from '../../session/session.ts';
import type { MonitorForm } from './form-values.ts';

interface FieldsProps {
  readonly form: MonitorForm;
}

const INTERVALS = [
  { seconds: 30, label: '30 s' },
  { seconds: 60, label: '1 min' },
  { seconds: 300, label: '5 min' },
  { seconds: 900, label: '15 min' },
  { seconds: 3_600, label: '1 h' },
] as const;

/** A number out of range stays as typed, and the error says what is allowed. */
function WholeNumberInput(props: NumberInputProps): ReactNode {
  return <NumberInput clampBehavior="none" allowDecimal={false} {...props} />;
}

export function ScheduleFields({ form }: FieldsProps): ReactNode {
  return (
    <Panel title="Schedule">
      <Stack>
        <SimpleGrid cols={{ base: 1, xs: 2 }}>
          <div>
            <WholeNumberInput
              label="Interval (seconds)"
              description="How often each region checks."
              min={LIMITS.intervalSeconds.min}
              max={LIMITS.intervalSeconds.max}
              required
              {...form.getInputProps('interval')}
            />
            <Group gap={6} mt={6} role="group" aria-label="Common intervals">
              {INTERVALS.map(({ seconds, label }) => {
                const isSelected = form.values.interval === seconds;
                return (
                  <Button
                    key={seconds}
                    size="compact-sm"
                    variant={isSelected ? 'filled' : 'default'}
                    aria-pressed={isSelected}
                    onClick={() => form.setFieldValue('interval', seconds)}
                  >
                    {label}
                  </Button>
                );
              })}
            </Group>
          </div>
          <WholeNumberInput
            label="Timeout (seconds)"
            description="For the whole check, including redirects."
            min={LIMITS.timeoutSeconds.min}
            max={LIMITS.timeoutSeconds.max}
            required
            {...form.getInputProps('timeout')}
          />
        </SimpleGrid>
        <RegionsInput form={form} />
      </Stack>
    </Panel>
  );
}

/** Suggests the known regions. Any other name is allowed, because its checkers may start later. */
function RegionsInput({ form }: FieldsProps): ReactNode {
  const { data: known = [], isSuccess } = useQuery({ ...regionsQuery, refetchInterval: false });
  const defaultRegion = useDefaultRegion();
  const served = new Set(known.filter((region) => region.served !== false).map(({ region }) => region));
  const unserved = isSuccess ? form.values.regions.filter((region) => !served.has(region)) : [];
  return (
    <div>
      <TagsInput
        label="Regions"
        description={`Each region checks independently. If empty: ${labelDefaultRegion(defaultRegion)}.`}
        placeholder={form.values.regions.length === 0 ? 'eu-west, us-east' : ''}
        data={known.map(({ region }) => region)}
        splitChars={[',', ' ']}
        clearable
        clearButtonProps={{ 'aria-label': 'Clear the regions' }}
        {...form.getInputProps('regions')}
      />
      {unserved.length > 0 && (
        <Group gap={6} mt={6} wrap="nowrap" role="status">
          <IconAlertTriangle size={16} aria-hidden />
          <Text size="xs">No checker is running in {unserved.join(', ')}. Checks start when one does.</Text>
        </Group>
      )}
    </div>
  );
}

export function AssertionFields({ form }: FieldsProps): ReactNode {
  return (
    <Panel title="Assertions">
      <Stack>
        <Quiet>
          A check passes if the response arrives in time with a status code from 200 to 399. Each assertion
          that you set must also hold.
        </Quiet>
        <SimpleGrid cols={{ base: 1, xs: 2 }}>
          <WholeNumberInput
            label="Status code"
            description="The only status code that passes."
            placeholder="200 to 399"
            min={100}
            max={599}
            {...form.getInputProps('assertions.statusCode')}
          />
          <WholeNumberInput
            label="Maximum latency (ms)"
            description="For the whole check."
            placeholder="Any"
            min={1}
            max={LIMITS.maxLatencyMs}
            step={100}
            {...form.getInputProps('assertions.maxLatency')}
          />
          <WholeNumberInput
            label="Minimum certificate validity (days)"
            description="How long the certificate must still be valid."
            placeholder="Any"
            min={1}
            max={LIMITS.certificateMinDays}
            {...form.getInputProps('assertions.certificateMinDays')}
          />
          <WholeNumberInput
            label="Failure threshold"
            description="Consecutive failures until a region counts as failing."
            min={LIMITS.failureThreshold.min}
            max={LIMITS.failureThreshold.max}
            required
            {...form.getInputProps('failureThreshold')}
          />
        </SimpleGrid>
        <Textarea
          label="Body contains"
          description="Searches the first MiB of the response."
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

export function AdvancedFields({ form }: FieldsProps): ReactNode {
  return (
    <Panel title="Advanced">
      <Stack>
        <TextInput
          label="Runbook URL"
          description="What to do when the monitor is down. Webhooks include it."
          type="url"
          inputMode="url"
          placeholder="https://wiki.example.com/shop-is-down"
          autoComplete="off"
          {...form.getInputProps('runbookUrl')}
        />
        <SimpleGrid cols={{ base: 1, xs: 2 }}>
          <TextInput
            label="External ID"
            description="Your own key for the monitor, unique in the account."
            autoComplete="off"
            {...form.getInputProps('externalId')}
          />
          <TextInput
            label="Source"
            description="The set of monitors as code that owns the monitor."
            autoComplete="off"
            {...form.getInputProps('source')}
          />
        </SimpleGrid>
      </Stack>
    </Panel>
  );
}
