import { Paper, Title, Group } from '@mantine/core';
import type { ReactNode } from 'react';
import classes from './panel.module.css';

interface PanelProps {
  readonly title?: string;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

/** A part of a page. */
export function Panel({ title, actions, children }: PanelProps): ReactNode {
  return (
    <Paper
      component="section"
      p="md"
      className={classes['panel'] ?? ''}
      {...(title && { 'aria-label': title })}
    >
      {title !== undefined && (
        <Group justify="space-between" mb="sm" mih={34}>
          <Title order={2} size="h5">
            {title}
          </Title>
          {actions}
        </Group>
      )}
      {children}
    </Paper>
  );
}
