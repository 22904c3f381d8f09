import { Alert, Group, Text, VisuallyHidden } from '@mantine/core';
import { IconPlugConnectedX } from '@tabler/icons-react';
import { type ReactNode, useEffect, useState } from 'react';
import { Time } from '../components/text.tsx';
import { useLiveState, useLiveStream } from './live-provider.tsx';
import classes from './live-status.module.css';
import type { LiveStateName } from './live-stream.ts';

const STATES: Record<LiveStateName, { label: string; hint: string }> = {
  connecting: { label: 'Connecting', hint: 'Opening the live stream' },
  live: { label: 'Live', hint: 'Checks and status changes appear as they happen' },
  lost: { label: 'Reconnecting', hint: 'Connection lost. Missed events load after it reconnects.' },
};

/** The state of the live stream, in the header. */
export function LiveState(): ReactNode {
  const state = useLiveState();
  const { label, hint } = STATES[state];
  return (
    <Group gap="2xs" wrap="nowrap" role="status" title={hint}>
      <span className={classes['dot']} data-state={state} aria-hidden />
      <Text component="span" size="xs" c="var(--text-quiet)" visibleFrom="xs">
        {label}
      </Text>
      <VisuallyHidden>{hint}</VisuallyHidden>
    </Group>
  );
}

/** A restarted API is usually back before this, and no data is missed. */
const SHOW_AFTER_MS = 3_000;

/** A banner above the page while the live stream is lost, because a page that no longer updates looks healthy. */
export function NotLiveBanner(): ReactNode {
  const isLost = useLiveState() === 'lost';
  const { heardAt } = useLiveStream();
  return (
    <div role="status" className={classes['place']}>
      {isLost && <Banner since={new Date(heardAt).toISOString()} />}
    </div>
  );
}

function Banner({ since }: { readonly since: string }): ReactNode {
  const [shown, setShown] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), SHOW_AFTER_MS);
    return () => clearTimeout(timer);
  }, []);
  if (!shown) return null;
  return (
    <Alert
      color="red"
      variant="outline"
      icon={<IconPlugConnectedX aria-hidden />}
      className={classes['banner'] ?? ''}
    >
      <Text size="sm">
        <b>Not live</b> since <Time value={since} as="clock" />. The data is from that time. Missed events
        load after the connection is back.
      </Text>
    </Alert>
  );
}
