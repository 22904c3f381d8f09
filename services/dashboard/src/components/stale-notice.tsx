import { Button, Group, Text } from '@mantine/core';
import { IconCloudOff } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { describeError } from '../api/api-error.ts';
import { isWorthRetrying } from '../api/retry.ts';
import { Time } from './time.tsx';

interface StaleNoticeProps {
  readonly error: unknown;
  /** When what is shown was loaded, epoch milliseconds. */
  readonly since: number;
  readonly retry: () => void;
}

/** Above what is shown as it was, since it could not be loaded again. */
export function StaleNotice({ error, since, retry }: StaleNoticeProps): ReactNode {
  return (
    <Group gap={6} mb="xs" role="status">
      <IconCloudOff size={16} aria-hidden />
      <Text size="xs" c="var(--text-quiet)" component="span">
        As of <Time value={new Date(since).toISOString()} as="clock" />: it could not be refreshed
        {isWorthRetrying(error) ? ', trying again.' : `. ${describeError(error)}`}
      </Text>
      {!isWorthRetrying(error) && (
        <Button size="compact-xs" variant="subtle" onClick={retry}>
          Try again
        </Button>
      )}
    </Group>
  );
}
