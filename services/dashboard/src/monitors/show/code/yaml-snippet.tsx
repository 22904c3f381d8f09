import { Text } from '@mantine/core';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import type { ReactNode } from 'react';
import { CodeBlock } from '../../../components/code.tsx';
import { monitorYaml, ownershipNote } from './monitor-yaml.ts';

export function YamlSnippet({ monitor }: { readonly monitor: Monitor }): ReactNode {
  const note = ownershipNote(monitor);
  return (
    <>
      <CodeBlock code={monitorYaml(monitor)} what="the tocsin.yaml" />
      {note !== null && (
        <Text size="sm" mt="xs">
          {note} To manage it as code, set a source and an external ID under “Edit”, or run{' '}
          <code style={{ whiteSpace: 'nowrap' }}>tocsin export --adopt --source &lt;name&gt;</code>, which
          does so for every monitor without a source and writes them to a file.
        </Text>
      )}
    </>
  );
}
