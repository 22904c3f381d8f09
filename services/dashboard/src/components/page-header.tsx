import { Group, Stack, Text, Title } from '@mantine/core';
import { useEffect, type ReactNode } from 'react';
import { focusLateHeading } from '../app/focus-heading.ts';

interface PageHeaderProps {
  readonly title: string;
  readonly hint?: ReactNode;
  readonly actions?: ReactNode;
}

/** The top of a page, which also names the browser's tab. */
export function PageHeader({ title, hint, actions }: PageHeaderProps): ReactNode {
  useEffect(() => {
    document.title = `${title} · Tocsin`;
  }, [title]);
  useEffect(focusLateHeading, []);
  return (
    <Group justify="space-between" align="flex-start" mb="md">
      <Stack gap={2} miw={0} flex="1 1 300px">
        <Title order={1} size="h2" style={{ overflowWrap: 'anywhere' }}>
          {title}
        </Title>
        {hint !== undefined && (
          <Text size="sm" c="var(--text-quiet)" component="div">
            {hint}
          </Text>
        )}
      </Stack>
      {actions !== undefined && <Group gap="xs">{actions}</Group>}
    </Group>
  );
}
