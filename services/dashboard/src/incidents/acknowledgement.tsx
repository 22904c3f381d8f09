import { Button, Group } from '@mantine/core';
import { IconUserCheck, IconUserMinus } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { Incident } from '@tocsin/contracts/incidents/incident';
import type { ReactNode } from 'react';
import { showError } from '../api/mutations.ts';
import { api } from '../api/request.ts';
import { Quiet, Time } from '../components/text.tsx';
import { useMe } from '../session/session.ts';
import classes from './incidents.module.css';
import { incidentQuery } from './queries.ts';

interface IncidentProps {
  readonly incident: Incident;
}

/** Who works on an incident. Renders nothing if nobody has acknowledged it. */
export function Acknowledged({ incident: { acknowledgedAt, acknowledgedBy } }: IncidentProps): ReactNode {
  if (acknowledgedAt === null || acknowledgedBy === null) return null;
  return (
    <Quiet inline className={classes['acknowledged'] ?? ''}>
      <IconUserCheck size={16} aria-hidden /> Acknowledged by {acknowledgedBy.name},{' '}
      <Time value={acknowledgedAt} as="ago" />
    </Quiet>
  );
}

const ENDPOINT = '/api/dashboard/incidents/:id/acknowledgement';

/** The button of an open incident: acknowledge it, take it over, or give it up. */
export function AcknowledgeButton({ incident: { id, acknowledgedBy } }: IncidentProps): ReactNode {
  const { user } = useMe();
  const queryClient = useQueryClient();
  const refresh = (): Promise<void> => queryClient.invalidateQueries({ queryKey: ['incidents'] });
  const { mutate, isPending } = useMutation({
    mutationFn: async (action: 'acknowledge' | 'take over' | 'give up') => {
      const removed = action !== 'acknowledge' && (await api(`DELETE ${ENDPOINT}`, { id }));
      const { incident } =
        removed && action === 'give up' ? removed : await api(`PUT ${ENDPOINT}`, { id, body: {} });
      queryClient.setQueryData(incidentQuery(id).queryKey, incident);
    },
    onError: showError,
    // Also after an error: it says that the page is out of date.
    onSettled: refresh,
  });
  if (acknowledgedBy === null)
    return (
      <Button
        leftSection={<IconUserCheck size={16} aria-hidden />}
        loading={isPending}
        onClick={() => mutate('acknowledge')}
      >
        Acknowledge
      </Button>
    );
  const isMine = acknowledgedBy.id === user.id;
  return (
    <Group gap="xs">
      {!isMine && (
        <Button
          variant="default"
          leftSection={<IconUserCheck size={16} aria-hidden />}
          loading={isPending}
          onClick={() => mutate('take over')}
        >
          Take over
        </Button>
      )}
      {isMine && (
        <Button
          variant="default"
          leftSection={<IconUserMinus size={16} aria-hidden />}
          loading={isPending}
          onClick={() => mutate('give up')}
        >
          Remove acknowledgement
        </Button>
      )}
    </Group>
  );
}
