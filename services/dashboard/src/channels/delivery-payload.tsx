import { Code, Group, SegmentedControl, Stack, Title } from '@mantine/core';
import { useState, type ReactNode } from 'react';
import { CopyButton } from '../components/copy-button.tsx';
import { prettyPayload } from './delivery-words.ts';

/** The body of a webhook: laid out to be read, or the very text that is sent. */
export function DeliveryPayload({ payload }: { readonly payload: string }): ReactNode {
  const [raw, setRaw] = useState(false);
  const text = raw ? payload : prettyPayload(payload);
  return (
    <Stack gap="xs">
      <Group justify="space-between">
        <Title order={3} size="h5">
          Payload
        </Title>
        <Group gap="xs">
          <SegmentedControl
            size="xs"
            aria-label="How the payload is shown"
            data={['Pretty', 'Raw']}
            value={raw ? 'Raw' : 'Pretty'}
            onChange={(value) => setRaw(value === 'Raw')}
          />
          <CopyButton value={text} what="the payload" />
        </Group>
      </Group>
      <Code
        block
        style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}
        tabIndex={0}
        role="region"
        aria-label="Payload"
      >
        {text}
      </Code>
    </Stack>
  );
}
