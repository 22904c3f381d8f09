import { Stack, Text, Title } from '@mantine/core';
import type { Icon } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import classes from './empty-state.module.css';

interface EmptyStateProps {
  readonly icon: Icon;
  readonly title: string;
  /** The first step from here. */
  readonly children: ReactNode;
  readonly action?: ReactNode;
}

/** What stands where there is nothing yet: why, and how to begin. */
export function EmptyState({ icon: Icon, title, children, action }: EmptyStateProps): ReactNode {
  return (
    <Stack align="center" gap="sm" className={classes['empty'] ?? ''}>
      <Icon size={40} stroke={1.4} aria-hidden />
      <Title order={2} size="h4">
        {title}
      </Title>
      <Text c="var(--text-quiet)" ta="center" maw={520} w="100%" component="div">
        {children}
      </Text>
      {action}
    </Stack>
  );
}
