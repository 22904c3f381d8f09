import { Stack } from '@mantine/core';
import type { Event } from '@tocsin/contracts/monitors/events';
import type { ReactNode } from 'react';
import { describeCause } from '../../../components/describe-cause.ts';
import { Time } from '../../../components/time.tsx';
import { PhaseList } from '../phases.tsx';
import tailClasses from './tail.module.css';

/** All that an event says. */
export function EventDetail({ event }: { readonly event: Event }): ReactNode {
  const { timestamp, errorReason, errorDetail, url, region, source, timings } = event;
  return (
    <Stack gap={8}>
      {errorReason !== null && (
        <div className={tailClasses['text']}>
          <b>{describeCause(errorReason)}</b> <code>{errorReason}</code>
          {errorDetail !== null && `: ${errorDetail}`}
        </div>
      )}
      {url !== null && (
        <div className={tailClasses['text']}>
          Checked <b>{url}</b> instead of the monitor’s URL: it moved no status.
        </div>
      )}
      <PhaseList timings={timings} />
      <div className={tailClasses['facts']}>
        <Time value={timestamp} /> · from {region} · {source === 'trigger' ? 'triggered' : 'scheduled'}
      </div>
    </Stack>
  );
}
