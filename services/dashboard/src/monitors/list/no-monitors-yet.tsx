import { Box, Stack, Text } from '@mantine/core';
import { IconActivityHeartbeat, IconPlus } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { LinkButton } from '../../components/buttons.tsx';
import { CodeBlock } from '../../components/code.tsx';
import { EmptyState } from '../../components/page.tsx';
import { TextLink } from '../../components/text.tsx';
import { useCan } from '../../session/session.ts';

export function NoMonitorsYet(): ReactNode {
  const can = useCan();
  const command = [
    `curl ${window.location.origin}/api/cli/monitors \\`,
    `  -H "Authorization: Bearer $TOCSIN_API_KEY" \\`,
    `  -H "Content-Type: application/json" \\`,
    `  -d '{ "name": "Shop", "url": "https://shop.example.com/health" }'`,
  ].join('\n');
  if (!can.change)
    return (
      <EmptyState icon={IconActivityHeartbeat} title="No monitors yet">
        A monitor checks a URL at a fixed interval. Members of the account create monitors.
      </EmptyState>
    );
  return (
    <EmptyState
      icon={IconActivityHeartbeat}
      title="No monitors yet"
      action={
        <LinkButton variant="filled" icon={IconPlus} to="/monitors/new">
          New monitor
        </LinkButton>
      }
    >
      <Stack gap="sm">
        <Text inherit>
          A monitor checks a URL at a fixed interval and alerts you when it fails. The first result appears
          within seconds.
        </Text>
        <Text inherit>
          You can also create one from a script, with an{' '}
          <TextLink to="/api-keys" underline="always">
            API key
          </TextLink>
          :
        </Text>
        <Box ta="left">
          <CodeBlock code={command} what="the command" />
        </Box>
      </Stack>
    </EmptyState>
  );
}
