import { Center, Paper, Stack, Text, Title } from '@mantine/core';
import { type ReactNode, useEffect } from 'react';
import { Logo } from '../app/shell.tsx';
import panel from '../components/page.module.css';

interface EntranceProps {
  readonly title: string;
  readonly hint: ReactNode;
  readonly children: ReactNode;
}

/** What surrounds the pages before signing in. */
export function Entrance({ title, hint, children }: EntranceProps): ReactNode {
  useEffect(() => {
    document.title = `${title} · Tocsin`;
  }, [title]);
  return (
    <Center mih="100vh" p="md" component="main">
      <Paper p="xl" w="100%" maw={420} className={panel['panel'] ?? ''}>
        <Stack>
          <Stack gap={4} align="center">
            <Logo size={48} />
            <Title order={1} size="h3">
              {title}
            </Title>
            <Text size="sm" c="var(--text-quiet)" ta="center">
              {hint}
            </Text>
          </Stack>
          {children}
        </Stack>
      </Paper>
    </Center>
  );
}
