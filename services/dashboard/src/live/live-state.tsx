import { Group, Text, VisuallyHidden } from '@mantine/core';
import type { ReactNode } from 'react';
import { useLiveState } from './live-provider.tsx';
import type { LiveStateName } from './live-stream.ts';
import classes from './live-state.module.css';

const WORDS: Record<LiveStateName, { label: string; hint: string }> = {
  connecting: { label: 'Connecting', hint: 'Opening the live stream' },
  live: { label: 'Live', hint: 'Checks and changes appear as they happen' },
  lost: {
    label: 'Reconnecting',
    hint: 'The live stream broke. What is missed meanwhile comes when it is back.',
  },
};

/** Whether what the pages show is up to date. */
export function LiveState(): ReactNode {
  const state = useLiveState();
  const { label, hint } = WORDS[state];
  return (
    <Group gap={6} wrap="nowrap" role="status" title={hint}>
      <span className={classes['dot']} data-state={state} aria-hidden />
      <Text component="span" size="xs" c="var(--text-quiet)" visibleFrom="xs">
        {label}
      </Text>
      <VisuallyHidden>{hint}</VisuallyHidden>
    </Group>
  );
}
