import { Button, Skeleton, Stack } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconChevronDown, IconChevronRight } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import type { Event, EventResponse } from '@tocsin/contracts/monitors/events';
import { type ReactNode, useId } from 'react';
import { api, isStatus } from '../../../api/request.ts';
import { TextBlock } from '../../../components/code.tsx';
import { ErrorNotice } from '../../../components/load-states.tsx';
import { Quiet } from '../../../components/text.tsx';
import { useCan } from '../../../session/session.ts';

/** In pixels. */
const MAX_HEIGHT = 320;

interface KeptResponseProps {
  readonly event: Pick<Event, 'monitorId' | 'timestamp'>;
}

/** Loads the stored response of a failed check when the user opens it. Viewers may not see it. */
export function KeptResponse({ event }: KeptResponseProps): ReactNode {
  const can = useCan();
  const [opened, { toggle }] = useDisclosure();
  const contentId = useId();
  const Chevron = opened ? IconChevronDown : IconChevronRight;
  if (!can.change) return null;
  return (
    <div>
      <Button
        variant="default"
        size="compact-sm"
        leftSection={<Chevron size={14} aria-hidden />}
        aria-expanded={opened}
        {...(opened && { 'aria-controls': contentId })}
        onClick={toggle}
      >
        Response
      </Button>
      {opened && (
        <div id={contentId}>
          <Content event={event} />
        </div>
      )}
    </div>
  );
}

function Content({ event: { monitorId: id, timestamp } }: KeptResponseProps): ReactNode {
  const { data, error, refetch } = useQuery({
    queryKey: ['response', id, timestamp],
    queryFn: async ({ signal }) => {
      const endpoint = 'GET /api/dashboard/monitors/:id/events/:timestamp/response';
      return (await api(endpoint, { id, path: { timestamp }, signal })).response;
    },
    // The response never changes and may contain secrets.
    staleTime: Infinity,
    gcTime: 0,
  });
  if (isStatus(error, 404)) return <Quiet>The response is no longer kept.</Quiet>;
  if (error !== null) return <ErrorNotice error={error} retry={() => void refetch()} />;
  if (data === undefined) return <Skeleton height={120} role="status" aria-label="Loading the response" />;
  return <ResponseContent response={data} />;
}

export function ResponseContent({ response }: { readonly response: EventResponse }): ReactNode {
  const { statusCode, headers, body } = response;
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return (
    <Stack gap="xs" mt="xs">
      <div>
        Status code <b>{statusCode}</b>
      </div>
      <TextBlock label="Response headers" mah={MAX_HEIGHT}>
        {lines.join('\n')}
      </TextBlock>
      {body === null || body === '' ? (
        <Quiet size="xs">{body === null ? 'The check did not read the body.' : 'The body was empty.'}</Quiet>
      ) : (
        <TextBlock label="Response body" mah={MAX_HEIGHT}>
          {body}
        </TextBlock>
      )}
    </Stack>
  );
}
