import { Alert, Group, Modal, Skeleton, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import {
  IconCircleDashed,
  IconNetwork,
  IconNetworkOff,
  IconPencil,
  IconPlugConnected,
  IconPlugConnectedX,
  IconPlus,
} from '@tabler/icons-react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { LIMITS } from '@tocsin/contracts/limits';
import type { MonitorOverview } from '@tocsin/contracts/monitors/overview';
import type { Region } from '@tocsin/contracts/regions/region';
import type { RegionHealth } from '@tocsin/contracts/vocabulary';
import { type ReactNode, useCallback } from 'react';
import { api } from '../api/request.ts';
import { IconButton, RowButton } from '../components/buttons.tsx';
import { useApiForm } from '../components/form.ts';
import { MonitorSelect } from '../components/monitor-select.tsx';
import { SaveForm } from '../components/save-form.tsx';
import { Quiet, StateBadge, type StateLook, TextLink, Time } from '../components/text.tsx';
import { regionsOf } from '../monitors/list/arrange-monitors.ts';
import { monitorsQuery } from '../monitors/queries.ts';
import { useCan, useDefaultRegion } from '../session/session.ts';
import classes from './canaries.module.css';
import { regionsQuery } from './regions.ts';

const LOOKS: Readonly<Record<RegionHealth, StateLook>> = {
  connected: { label: 'Connected', icon: IconNetwork, tone: 'good' },
  isolated: { label: 'Isolated', icon: IconNetworkOff, tone: 'bad' },
  disconnected: { label: 'Disconnected', icon: IconPlugConnectedX, tone: 'bad' },
  unknown: { label: 'No canaries', icon: IconCircleDashed, tone: 'quiet' },
};

interface RegionProps {
  readonly region: Region;
}

/** The network state of a region, according to its canaries. */
export function Network({ region: { health, since } }: RegionProps): ReactNode {
  return (
    <div>
      <StateBadge look={LOOKS[health]} />
      {since !== null && (
        <Quiet size="xs">
          since <Time value={since} as="clock" />
        </Quiet>
      )}
    </div>
  );
}

/** The canaries of a region, with a button to edit them. */
export function Canaries({ region }: RegionProps): ReactNode {
  const { region: code, canaryMonitorIds, monitors } = region;
  const { data: all, isPending } = useQuery(monitorsQuery);
  const [opened, { open, close }] = useDisclosure();
  const can = useCan();
  if ((monitors === 0 || !can.change) && canaryMonitorIds.length === 0) return '–';
  // The names are not loaded yet.
  if (isPending && canaryMonitorIds.length > 0) return <Skeleton height={24} />;
  return (
    <>
      {canaryMonitorIds.length === 0 ? (
        <IconButton
          icon={IconPlus}
          size="compact-xs"
          aria-haspopup="dialog"
          aria-label={`Choose canaries for ${code}`}
          onClick={open}
        >
          Choose
        </IconButton>
      ) : (
        <Group gap="2xs" wrap="nowrap" align="flex-start">
          <ul className={`plain-list ${classes['list'] ?? ''}`} aria-label={`Canaries of ${code}`}>
            {canaryMonitorIds.map((id) => (
              <li key={id}>
                <TextLink to="/monitors/$monitorId" params={{ monitorId: id }} size="sm">
                  {all?.find((monitor) => monitor.id === id)?.name ?? id}
                </TextLink>
              </li>
            ))}
          </ul>
          {can.change && (
            <RowButton icon={IconPencil} hint="Edit" label={`Edit the canaries of ${code}`} onClick={open} />
          )}
        </Group>
      )}
      <Modal opened={opened} onClose={close} title={`Canaries of ${code}`} size="lg">
        <CanaryForm region={region} onClose={close} />
      </Modal>
    </>
  );
}

function CanaryForm({ region, onClose }: RegionProps & { readonly onClose: () => void }): ReactNode {
  const { region: code, canaryMonitorIds } = region;
  const queryClient = useQueryClient();
  const defaultRegion = useDefaultRegion();
  const { data: monitors = [] } = useQuery(monitorsQuery);
  const form = useApiForm({
    initialValues: { canaryMonitorIds: [...canaryMonitorIds] },
    validate: (values) =>
      values.canaryMonitorIds.length > LIMITS.canaries
        ? [{ path: 'canaryMonitorIds', message: `Choose at most ${LIMITS.canaries} canaries.` }]
        : [],
    toField: ({ path, message }, { canaryMonitorIds: ids }) => {
      const monitor = monitors.find(({ id }) => path === `canaryMonitorIds.${ids.indexOf(id)}`);
      return { path, message: monitor === undefined ? message : `${monitor.name} ${message}` };
    },
  });
  const isListed = useCallback(
    (monitor: MonitorOverview) => regionsOf(monitor, defaultRegion).includes(code),
    [defaultRegion, code],
  );
  const save = async (body: typeof form.values): Promise<void> => {
    const { region: saved } = await api('PUT /api/dashboard/regions/:code', { path: { code }, body });
    queryClient.setQueryData(regionsQuery.queryKey, (regions) =>
      regions?.map((one) => (one.region === code ? saved : one)),
    );
    onClose();
  };
  return (
    <SaveForm layout="dialog" form={form} action="Save" save={save} onCancel={onClose}>
      <Text size="sm">
        When a check from {code} gets no response, Tocsin also checks these monitors. If none of them
        responds, the region has lost its network, and its failures are recorded as inconclusive instead of
        sending alerts.
      </Text>
      <MonitorSelect
        label="Canaries"
        description="Choose monitors on different networks that are nearly always up, at least one by host name. They send alerts as usual."
        isListed={isListed}
        max={LIMITS.canaries}
        {...form.getInputProps('canaryMonitorIds')}
        value={form.values.canaryMonitorIds}
      />
    </SaveForm>
  );
}

/** Recommends canaries while no region has any. */
export function NoCanariesNotice(): ReactNode {
  return (
    <Alert mb="md" icon={<IconPlugConnected aria-hidden />} title="No region has canaries yet">
      If a region loses its own network, all its checks fail. Canaries prevent these false alarms: choose
      monitors on different networks for each region. While none of them responds, failures in the region are
      recorded as inconclusive.
    </Alert>
  );
}
