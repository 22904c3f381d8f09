import { Alert, Group, Stack, Text } from '@mantine/core';
import type { Event } from '@tocsin/contracts/monitors/events';
import type { ReactNode } from 'react';
import { describeCause } from '../../components/describe-cause.ts';
import { formatLatency } from '../../components/format-latency.ts';
import { StatusBadge } from '../../components/status-badge.tsx';
import { Time } from '../../components/time.tsx';
import { PhaseList } from './phases.tsx';

interface CheckResultProps {
  readonly event: Event;
  readonly onClose: () => void;
}

/** What "Check now" came to. */
export function CheckResult({ event, onClose }: CheckResultProps): ReactNode {
  const { timestamp, status, statusCode, latency, region, errorReason, errorDetail, timings } = event;
  return (
    <Alert
      color={status === 'UP' ? 'green' : 'red'}
      variant="light"
      title={
        <>
          Checked <Time value={timestamp} as="ago" /> from {region}
        </>
      }
      withCloseButton
      closeButtonLabel="Close the result"
      onClose={onClose}
    >
      <Stack gap={6}>
        <Group gap="md">
          <StatusBadge status={status} />
          {statusCode !== null && <Text size="sm">HTTP {statusCode}</Text>}
          {latency > 0 && (
            <Text size="sm" className="tabular">
              {formatLatency(latency)}
            </Text>
          )}
          {errorReason !== null && (
            <Text size="sm" component="span">
              <b>{describeCause(errorReason)}</b> <code>{errorReason}</code>
            </Text>
          )}
        </Group>
        {errorDetail !== null && (
          <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
            {errorDetail}
          </Text>
        )}
        <PhaseList timings={timings} />
      </Stack>
    </Alert>
  );
}
