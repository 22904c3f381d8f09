import { Code, Group } from '@mantine/core';
import type { ReactNode } from 'react';
import { CopyButton } from '../components/copy-button.tsx';

/** A secret in full, to copy. */
export function SecretText({ secret }: { readonly secret: string }): ReactNode {
  return (
    <Group gap={4} wrap="nowrap" align="flex-start">
      <Code fz="sm" p={8} style={{ overflowWrap: 'anywhere', flex: 1 }}>
        {secret}
      </Code>
      <CopyButton value={secret} what="the secret" />
    </Group>
  );
}
