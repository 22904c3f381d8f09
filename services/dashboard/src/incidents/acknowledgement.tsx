import { Button } from '@mantine/core';
import { IconUserCheck, IconUserMinus } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { Incident } from '@tocsin/contracts/incidents/incident';
import type { ReactNode } from 'react';
import { showError } from '../api/mutations.ts';
import { api } from '../api/request.ts';
import { ConfirmButton } from '../components/dialogs.tsx';
import { Quiet, Time } from '../components/text.tsx';
import { useCan, useMe } from '../session/session.ts';
import classes from './incidents.module.css';
import { incidentQuery } from './queries.ts';

interface IncidentProps {
  readonly incident: Incident;
}

/** Shows who works on an incident. Renders nothing if nobody has acknowledged it. */
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

/** Acknowledges an open incident, takes it over from another user, or removes the acknowledgement. */
export function AcknowledgeButton({ incident: { id, acknowledgedBy } }: IncidentProps): ReactNode {
  const { user } = useMe();
  const can = useCan();
  const queryClient = useQueryClient();
  const change = useMutation({
    mutationFn: async (steps: readonly ('PUT' | 'DELETE')[]) => {
      for (const method of steps) {
        const { incident } = await (method === 'PUT'
          ? api(`PUT ${ENDPOINT}`, { id, body: {} })
          : api(`DELETE ${ENDPOINT}`, { id }));
        if (method === steps.at(-1)) queryClient.setQueryData(incidentQuery(id).queryKey, incident);
      }
    },
    onError: showError,
    // An error can mean that the page is out of date.
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['incidents'] }),
  });
  if (!can.change) return null;
  if (acknowledgedBy !== null && acknowledgedBy.id !== user.id)
    return (
      <ConfirmButton
        button={{ icon: IconUserCheck, children: 'Take over' }}
        title={`Take over from ${acknowledgedBy.name}?`}
        action="Take over"
        color="cyan"
        onConfirm={() => change.mutate(['DELETE', 'PUT'])}
      >
        {acknowledgedBy.name} is working on this incident.
      </ConfirmButton>
    );
  const isMine = acknowledgedBy !== null;
  const Icon = isMine ? IconUserMinus : IconUserCheck;
  return (
    <Button
      variant={isMine ? 'default' : 'filled'}
      leftSection={<Icon size={16} aria-hidden />}
      loading={change.isPending}
      onClick={() => change.mutate([isMine ? 'DELETE' : 'PUT'])}
    >
      {isMine ? 'Remove acknowledgement' : 'Acknowledge'}
    </Button>
  );
}
