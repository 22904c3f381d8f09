import { Alert, Box, Group, Text, VisuallyHidden } from '@mantine/core';
import { IconPlugConnectedX } from '@tabler/icons-react';
import { type ReactNode, useEffect, useState } from 'react';
import { Time } from '../components/text.tsx';
import { useLiveState, useLiveStream } from './live-provider.tsx';
import type { LiveStateName } from './live-stream.ts';

const STATES: Record<LiveStateName, { label: string; color: string; hint: string }> = {
  connecting: { label: 'Connecting', color: 'var(--status-pending)', hint: 'Opening the live stream' },
  live: { label: 'Live', color: 'var(--status-up)', hint: 'Checks and status changes appear as they happen' },
  lost: {
    label: 'Reconnecting',
    color: 'var(--status-down)',
    hint: 'Connection lost. Missed events load after it reconnects.',
  },
};

/** The state of the live stream, shown in the header. */
export function LiveState(): ReactNode {
  const state = useLiveState();
  const { label, color, hint } = STATES[state];
  return (
    <Group gap="2xs" wrap="nowrap" role="status" title={hint}>
      <Box w={8} h={8} bdrs="50%" bg={color} aria-hidden />
      <Text component="span" size="xs" c="var(--text-quiet)" visibleFrom="xs">
        {label}
      </Text>
      <VisuallyHidden>{hint}</VisuallyHidden>
    </Group>
  );
}

/** A restarted API is usually back within this time. */
const NOT_LIVE_AFTER_MS = 3_000;

/** True if the live stream has been lost for a while. */
export function useIsNotLive(): boolean {
  const isLost = useLiveState() === 'lost';
  const [isLong, setLong] = useState(false);
  useEffect(() => {
    if (!isLost) return;
    const timer = setTimeout(() => setLong(true), NOT_LIVE_AFTER_MS);
    return () => {
      clearTimeout(timer);
      setLong(false);
    };
  }, [isLost]);
  return isLost && isLong;
}

/** A banner above the page while the live stream is lost, because a page that no longer updates looks healthy. */
export function NotLiveBanner(): ReactNode {
  const isNotLive = useIsNotLive();
  const { heardAt } = useLiveStream();
  return (
    // Visible at any scroll position.
    <Box
      role="status"
      pos="sticky"
      top="calc(var(--app-shell-header-height, 0px) + 8px)"
      style={{ zIndex: 50 }}
    >
      {isNotLive && (
        <Alert
          color="red"
          variant="outline"
          icon={<IconPlugConnectedX aria-hidden />}
          mb="md"
          py="xs"
          bg="var(--surface-raised)"
        >
          <Text size="sm">
            <b>Not live</b> since <Time value={new Date(heardAt).toISOString()} as="clock" />. The data is
            from that time. Missed events load after the connection is back.
          </Text>
        </Alert>
      )}
    </Box>
  );
}
