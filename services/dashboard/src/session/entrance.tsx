import { Center, Paper, Stack, Text, Title } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import type { ReactNode } from 'react';
import pageClasses from '../components/page.module.css';

interface EntranceProps {
  readonly title: string;
  readonly hint: ReactNode;
  readonly children: ReactNode;
}

/** The frame around the pages before signing in. */
export function Entrance({ title, hint, children }: EntranceProps): ReactNode {
  useDocumentTitle(`${title} · Tocsin`);
  return (
    <Center mih="100vh" p="md" component="main">
      <Paper p="xl" w="100%" maw={420} className={pageClasses['panel'] ?? ''}>
        <Stack>
          <Stack gap={4} align="center">
            <img src="/favicon.svg" width={48} height={48} alt="" />
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
