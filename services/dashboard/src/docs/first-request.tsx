import { Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { CodeBlock } from '../components/code-block.tsx';
import { TextLink } from '../components/links.tsx';
import { Panel } from '../components/page.tsx';

/** How to begin: a key, and one request with it. */
export function FirstRequest(): ReactNode {
  return (
    <Panel title="The first request">
      <Text size="sm" mb="xs">
        Programs carry an{' '}
        <TextLink to="/api-keys" underline="always">
          API key
        </TextLink>{' '}
        as a bearer token. Bodies and answers are JSON; every error is a problem document (RFC 9457) that says
        what is wrong and what would be right.
      </Text>
      <CodeBlock
        code={[
          `curl ${window.location.origin}/api/cli/monitors`,
          '-H "Authorization: Bearer $TOCSIN_API_KEY"',
        ].join(' \\\n  ')}
        what="the first request"
      />
    </Panel>
  );
}
