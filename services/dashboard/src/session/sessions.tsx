import { Badge, Button, Group, Skeleton, Stack, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { describeError } from '../api/api-error.ts';
import { Loaded } from '../components/loaded.tsx';
import { Panel } from '../components/panel.tsx';
import { Time } from '../components/time.tsx';
import { browserName } from './browser-name.ts';
import { currentSessionQuery, endOtherSessions, endSession, sessionsQuery } from './sessions-query.ts';

/** Where one is signed in, and how to end that. */
export function Sessions(): ReactNode {
  const queryClient = useQueryClient();
  const query = useQuery(sessionsQuery);
  const { data: current } = useQuery(currentSessionQuery);
  const end = useMutation({
    mutationFn: (token: string | null) => (token === null ? endOtherSessions() : endSession(token)),
    onSuccess: () => notifications.show({ message: 'Signed out there.' }),
    onError: (failure) => notifications.show({ color: 'red', message: describeError(failure) }),
    onSettled: () => queryClient.invalidateQueries({ queryKey: sessionsQuery.queryKey }),
  });
  const others = query.data?.filter(({ id }) => id !== current?.session.id) ?? [];
  return (
    <Panel
      title="Signed in"
      actions={
        others.length > 0 ? (
          <Button size="xs" variant="default" loading={end.isPending} onClick={() => end.mutate(null)}>
            Sign out everywhere else
          </Button>
        ) : undefined
      }
    >
      <Loaded query={query} pending={<Skeleton h={90} />}>
        {(sessions) => (
          <Stack gap="sm">
            {sessions.map(({ id, token, userAgent, ipAddress, createdAt }) => (
              <Group key={id} justify="space-between" wrap="nowrap">
                <Stack gap={0}>
                  <Group gap="xs">
                    <Text size="sm" fw={600}>
                      {browserName(userAgent)}
                    </Text>
                    {id === current?.session.id && (
                      <Badge size="sm" variant="light">
                        here
                      </Badge>
                    )}
                  </Group>
                  <Text size="xs" c="var(--text-quiet)" component="div">
                    {ipAddress !== null && ipAddress !== undefined && ipAddress !== '' && `${ipAddress} · `}
                    since <Time value={createdAt} />
                  </Text>
                </Stack>
                {id !== current?.session.id && (
                  <Button
                    size="xs"
                    variant="default"
                    onClick={() => end.mutate(token)}
                    aria-label={`Sign out ${browserName(userAgent)}`}
                  >
                    Sign out
                  </Button>
                )}
              </Group>
            ))}
          </Stack>
        )}
      </Loaded>
    </Panel>
  );
}
