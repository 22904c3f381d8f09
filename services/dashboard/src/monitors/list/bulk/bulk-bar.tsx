import { Button, type ButtonProps, Group, Modal, Paper, Text } from '@mantine/core';
import {
  type Icon,
  IconCalendarPause,
  IconPlayerPause,
  IconPlayerPlay,
  IconRefresh,
  IconTags,
  IconTrash,
  IconWebhook,
} from '@tabler/icons-react';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { LIMITS } from '@tocsin/contracts/limits';
import { type ReactNode, useState } from 'react';
import { showError, useRefresh } from '../../../api/mutations.ts';
import { api } from '../../../api/request.ts';
import { formatCount, formatNumber } from '../../../components/format.ts';
import { Quiet } from '../../../components/text.tsx';
import { monitorsQuery } from '../../queries.ts';
import { AssignChannels } from './assign-channels.tsx';
import { type BulkDialogProps, useBulkRun } from './bulk-run.tsx';
import { DeleteMonitors } from './delete-monitors.tsx';
import { EditLabels } from './edit-labels.tsx';

interface BulkBarProps {
  /** Monitors that pass the filters. */
  readonly shownIds: readonly string[];
  readonly selected: ReadonlySet<string>;
  /** @param selected null if the user is done */
  readonly onChange: (selected: ReadonlySet<string> | null) => void;
}

const DIALOGS = {
  labels: { title: 'Edit labels of', Content: EditLabels },
  channels: { title: 'Assign channels to', Content: AssignChannels },
} as const;

/** The bar at the bottom of the screen while the user selects monitors. */
export function BulkBar({ shownIds, selected, onChange }: BulkBarProps): ReactNode {
  const [dialog, setDialog] = useState<keyof typeof DIALOGS | 'delete' | null>(null);
  const [message, setMessage] = useState('');
  const { data = [] } = useQuery(monitorsQuery);
  // Excludes monitors that were deleted meanwhile.
  const monitors = data.filter(({ id }) => selected.has(id));
  const shown = shownIds.filter((id) => selected.has(id)).length;
  const close = (): void => setDialog(null);
  const finish = (): void => onChange(null);
  return (
    <>
      <Paper
        role="region"
        aria-label="Selected monitors"
        shadow="md"
        withBorder
        pos="fixed"
        right={16}
        bottom={16}
        left="calc(var(--app-shell-navbar-offset, 0px) + 16px)"
        px="md"
        py="xs"
        bg="var(--surface-raised)"
        style={{ zIndex: 4 }}
      >
        <Group justify="space-between" gap="xs">
          <div>
            <Text size="sm" fw={500} role="status" className="tabular">
              {formatCount(monitors.length, 'monitor')} selected
              {shown < monitors.length && `, ${formatNumber(monitors.length - shown)} hidden by the filters`}
            </Text>
            <div role="status">{message !== '' && <Quiet>{message}</Quiet>}</div>
            {monitors.length > LIMITS.maintenanceMonitors && (
              <Quiet>
                A maintenance window lists at most {formatNumber(LIMITS.maintenanceMonitors)} monitors. For
                more, use a label selector.
              </Quiet>
            )}
          </div>
          <Group gap="xs">
            <Button
              size="xs"
              variant="subtle"
              disabled={shown === shownIds.length}
              onClick={() => onChange(new Set([...selected, ...shownIds]))}
            >
              Select all {formatNumber(shownIds.length)}
            </Button>
            <Button
              size="xs"
              variant="subtle"
              color="gray"
              disabled={monitors.length === 0}
              onClick={() => onChange(new Set())}
            >
              Clear
            </Button>
            <Actions monitors={monitors} onOpen={setDialog} onMessage={setMessage} />
          </Group>
        </Group>
      </Paper>
      {Object.entries(DIALOGS).map(([key, { title, Content }]) => (
        <Modal
          key={key}
          opened={dialog === key}
          onClose={close}
          title={`${title} ${formatCount(monitors.length, 'monitor')}`}
        >
          <Content
            monitors={monitors}
            onRemaining={(ids) => onChange(new Set(ids))}
            onDone={finish}
            onCancel={close}
          />
        </Modal>
      ))}
      <DeleteMonitors opened={dialog === 'delete'} monitors={monitors} onDone={finish} onCancel={close} />
    </>
  );
}

interface ActionsProps extends Pick<BulkDialogProps, 'monitors'> {
  readonly onOpen: (dialog: keyof typeof DIALOGS | 'delete') => void;
  readonly onMessage: (message: string) => void;
}

function Actions({ monitors, onOpen, onMessage }: ActionsProps): ReactNode {
  const navigate = useNavigate();
  const { run } = useBulkRun();
  const check = useMutation({
    mutationFn: async () => {
      const ids = monitors.map(({ id }) => id);
      let checked = 0;
      let within = 0;
      await run(ids, async (monitorIds) => {
        const body = { monitorIds: [...monitorIds] };
        const response = await api('POST /api/dashboard/monitors/check', { body });
        checked += response.monitors;
        within = Math.max(within, response.withinSeconds);
      });
      // A notification would cover the bar.
      onMessage(`Checking ${formatCount(checked, 'monitor')}. Results appear within ${within} s.`);
    },
    onError: showError,
  });
  const pause = usePause({ monitors, onMessage });
  const plan = (): void =>
    void navigate({ to: '/maintenance/new', state: { monitorIds: monitors.map(({ id }) => id) } });
  const action = (
    Icon: Icon,
    label: string,
    act: keyof typeof DIALOGS | 'delete' | (() => void),
    props: ButtonProps = {},
  ): ReactNode => (
    <Button
      size="xs"
      variant="default"
      aria-label={label}
      title={label}
      disabled={monitors.length === 0}
      {...(typeof act === 'string'
        ? { 'aria-haspopup': 'dialog' as const, onClick: () => onOpen(act) }
        : { onClick: act })}
      {...props}
    >
      <Icon size={16} aria-hidden />
      <Text span inherit ml={6} visibleFrom="sm">
        {label}
      </Text>
    </Button>
  );
  const isTooMany = monitors.length > LIMITS.maintenanceMonitors;
  return (
    <Group gap={6}>
      {action(IconTags, 'Edit labels', 'labels')}
      {action(IconWebhook, 'Assign channels', 'channels')}
      {action(IconCalendarPause, 'Plan maintenance', plan, isTooMany ? { disabled: true } : {})}
      {action(
        pause.enabled ? IconPlayerPlay : IconPlayerPause,
        pause.enabled ? 'Resume' : 'Pause',
        pause.mutate,
        { loading: pause.isPending },
      )}
      {action(IconRefresh, 'Check now', () => check.mutate(), { loading: check.isPending })}
      {action(IconTrash, 'Delete', 'delete')}
    </Group>
  );
}

/** Pauses the selected monitors, or resumes them if all are paused. Repeating it after an error is safe. */
function usePause({ monitors, onMessage }: Pick<ActionsProps, 'monitors' | 'onMessage'>) {
  const { run } = useBulkRun();
  const refresh = useRefresh();
  const enabled = monitors.length > 0 && monitors.every((monitor) => !monitor.enabled);
  const { mutate, isPending } = useMutation({
    mutationFn: async () => {
      const ids = monitors.map(({ id }) => id);
      let changed = 0;
      await run(ids, async (monitorIds) => {
        const body = { monitorIds: [...monitorIds], enabled };
        changed += (await api('POST /api/dashboard/monitors/pause', { body })).monitors.length;
      });
      onMessage(`${enabled ? 'Resumed' : 'Paused'} ${changed} of ${formatCount(ids.length, 'monitor')}.`);
    },
    onSettled: () => refresh(monitorsQuery, { queryKey: ['monitor'] }),
    onError: showError,
  });
  return { enabled, mutate: () => mutate(), isPending };
}
