import { Button, Text } from '@mantine/core';
import { IconSend } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ErrorNotice } from '../app/page-states.tsx';
import { Panel } from '../components/panel.tsx';
import { AttemptSummary } from './attempt-summary.tsx';
import { DeliveryStateBadge } from './delivery-state-badge.tsx';
import { channelQuery, testChannel } from './queries.ts';

/** Sends a test event and shows what came of it. */
export function ChannelTest({ channelId }: { readonly channelId: string }): ReactNode {
  const queryClient = useQueryClient();
  const { mutate, data, error, isPending } = useMutation({
    mutationFn: () => testChannel(channelId),
    onSettled: () => queryClient.invalidateQueries({ queryKey: channelQuery(channelId).queryKey }),
  });
  return (
    <Panel
      title="Test"
      actions={
        <Button
          size="xs"
          variant="default"
          leftSection={<IconSend size={14} aria-hidden />}
          loading={isPending}
          onClick={() => mutate()}
        >
          Send a test event
        </Button>
      }
    >
      <div aria-live="polite">
        {error !== null && !isPending ? (
          <ErrorNotice error={error} />
        ) : data !== undefined && !isPending ? (
          <AttemptSummary attempt={data.attempt}>
            <DeliveryStateBadge state={data.delivered ? 'delivered' : 'failed'} />
          </AttemptSummary>
        ) : (
          <Text size="sm" c="var(--text-quiet)">
            {isPending
              ? 'Waiting for the answer of the receiver…'
              : 'A signed event that says it is a test, sent once, to a channel that is disabled too.'}
          </Text>
        )}
      </div>
    </Panel>
  );
}
