import { Text } from '@mantine/core';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import type { ReactNode } from 'react';
import { CodeBlock } from '../../../components/code-block.tsx';
import { monitorYaml, ownershipNote } from './monitor-yaml.ts';

/** The monitor as a part of a file, and what becomes of it where the file is applied. */
export function YamlSnippet({ monitor }: { readonly monitor: Monitor }): ReactNode {
  const note = ownershipNote(monitor);
  return (
    <>
      <CodeBlock code={monitorYaml(monitor)} what="the part of tocsin.yaml" />
      {note !== null && (
        <Text size="sm" mt="xs">
          {note} To hand it over, give it a source and an external id under “Edit”, or have{' '}
          <code style={{ whiteSpace: 'nowrap' }}>tocsin export --adopt --source &lt;name&gt;</code> do so: for
          every monitor that has no source, which it then writes to a file.
        </Text>
      )}
    </>
  );
}
