import { Anchor, Button, Group, Modal, SegmentedControl, Text, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { IconInbox, IconRotateClockwise } from '@tabler/icons-react';
import { useInfiniteQuery } from '@tanstack/react-query';
import type { Channel } from '@tocsin/contracts/channels/channel';
import { redeliverySchema } from '@tocsin/contracts/deliveries/delivery';
import { DELIVERY_STATES, type DeliveryState } from '@tocsin/contracts/vocabulary';
import { type ReactNode, useState } from 'react';
import { useRefresh } from '../api/mutations.ts';
import { api, describeError, isAboutFields } from '../api/request.ts';
import { IconButton } from '../components/buttons.tsx';
import { bodyErrors, useApiForm } from '../components/form.ts';
import { formatUtc } from '../components/format.ts';
import { Loaded, LoadMore, Placeholder } from '../components/load-states.tsx';
import { DataTable } from '../components/data-table.tsx';
import { EmptyState, Panel } from '../components/page.tsx';
import { SaveForm } from '../components/save-form.tsx';
import { Quiet, StateBadge, Time } from '../components/text.tsx';
import { localToIso, readerZone, toLocal } from '../components/zoned-time.ts';
import { EVENT_LABELS, NO_NEXT_ATTEMPT } from './channel-text.ts';
import { DeliveryDrawer, MonitorName } from './delivery-details.tsx';
import { channelQuery, deliveriesQuery, describeRedelivery, redeliverAll } from './queries.ts';
import { DELIVERY_LOOKS } from './state-badges.tsx';
import { useCan } from '../session/session.ts';

const HOUR_MS = 3_600_000;
const FILTERS: { value: DeliveryState | 'all'; label: string }[] = [
  { value: 'all', label: 'All' },
  ...DELIVERY_STATES.map((value) => ({ value, label: DELIVERY_LOOKS[value].label })),
];

export function DeliveryLog({ channel }: { readonly channel: Channel }): ReactNode {
  const [state, setState] = useState<DeliveryState | null>(null);
  const [openedId, setOpenedId] = useState<string | null>(null);
  const can = useCan();
  const query = useInfiniteQuery(deliveriesQuery(channel.id, state));
  const empty =
    state === null ? (
      <EmptyState icon={IconInbox} title="No deliveries yet">
        {can.change && 'Send a test event above to check that the receiver responds. '}
        Outages and recoveries appear here automatically.
      </EmptyState>
    ) : (
      <Quiet py="lg">No deliveries in this state.</Quiet>
    );
  return (
    <Panel title="Delivery log" actions={can.change && <RedeliverRange channel={channel} />}>
      <SegmentedControl
        mb="sm"
        size="xs"
        aria-label="Delivery state"
        data={FILTERS}
        value={state ?? 'all'}
        onChange={(value) => setState(value === 'all' ? null : value)}
      />
      <Loaded query={query} pending={<Placeholder heights={[220]} />} empty={empty}>
        {(deliveries) => (
          <DataTable
            label="Deliveries, newest first"
            rows={deliveries}
            rowKey={({ id }) => id}
            columns={{
              Event: ({ id, event }) => (
                <Anchor component="button" type="button" size="sm" ta="left" onClick={() => setOpenedId(id)}>
                  {EVENT_LABELS[event]}
                </Anchor>
              ),
              Monitor: (delivery) => <MonitorName delivery={delivery} />,
              Time: ({ timestamp }) => <Time value={timestamp} />,
              State: ({ state: one }) => <StateBadge look={DELIVERY_LOOKS[one]} />,
              Attempts: ({ attemptCount }) => attemptCount,
              'Next attempt': ({ state: one, nextAttemptAt }) =>
                nextAttemptAt !== null ? (
                  <Time value={nextAttemptAt} as="ago" />
                ) : (
                  <Quiet inline>{NO_NEXT_ATTEMPT[one]}</Quiet>
                ),
            }}
          />
        )}
      </Loaded>
      <LoadMore query={query} />
      <DeliveryDrawer deliveryId={openedId} channel={channel} onClose={() => setOpenedId(null)} />
    </Panel>
  );
}

/** Resends all undelivered webhooks of a time range. */
function RedeliverRange({ channel }: { readonly channel: Channel }): ReactNode {
  const [opened, { open, close }] = useDisclosure();
  return (
    <>
      <IconButton size="xs" icon={IconRotateClockwise} onClick={open} aria-haspopup="dialog">
        Redeliver a time range
      </IconButton>
      <Modal opened={opened} onClose={close} title="Redeliver a time range">
        {channel.enabled ? (
          <RangeForm channelId={channel.id} onDone={close} />
        ) : (
          <Text size="sm">Enable the channel first: a disabled channel sends nothing.</Text>
        )}
      </Modal>
    </>
  );
}

/** Local times in the browser's time zone, such as `2026-03-01T12:00`. */
interface Range extends Record<string, string> {
  readonly since: string;
  readonly until: string;
}

interface RangeFormProps {
  readonly channelId: string;
  readonly onDone: () => void;
}

function RangeForm({ channelId, onDone }: RangeFormProps): ReactNode {
  const refresh = useRefresh();
  const zone = readerZone();
  const toBody = ({ since, until }: Range): Range => ({
    since: localToIso(since, zone) ?? '',
    until: localToIso(until, zone) ?? '',
  });
  const form = useApiForm<Range>({
    initialValues: lastHours(24, zone),
    validate: (values) => bodyErrors(redeliverySchema, toBody(values)),
  });
  const save = async (values: Range): Promise<void> => {
    try {
      const result = await redeliverAll(() =>
        api('POST /api/dashboard/channels/:id/redeliver', { id: channelId, body: toBody(values) }),
      );
      notifications.show({ message: describeRedelivery(result) });
      onDone();
    } catch (error) {
      if (isAboutFields(error)) throw error;
      // Long ranges take minutes and the dialog may be closed by now, so the error appears outside it.
      notifications.show({ color: 'red', message: describeError(error), autoClose: false });
    } finally {
      // Some deliveries may be pending again even after an error.
      void refresh(channelQuery(channelId));
    }
  };
  return (
    <SaveForm form={form} action="Redeliver" save={save} onCancel={onDone} layout="dialog">
      <Quiet>
        Sends all held, failed and pending deliveries in this time range again, in order. Successful
        deliveries are not repeated. Times are in {zone}.
      </Quiet>
      <Group gap="xs">
        {[1, 24, 72].map((hours) => (
          <Button
            key={hours}
            size="compact-xs"
            variant="default"
            onClick={() => form.setValues(lastHours(hours, zone))}
          >
            Last {hours === 1 ? 'hour' : `${hours} hours`}
          </Button>
        ))}
      </Group>
      {(['since', 'until'] as const).map((field) => {
        const iso = localToIso(form.values[field], zone);
        return (
          <TextInput
            key={field}
            type="datetime-local"
            label={field === 'since' ? 'Since' : 'Until'}
            required
            description={iso === null ? 'Invalid time' : formatUtc(new Date(iso))}
            {...form.getInputProps(field)}
            error={form.errors[field] && (iso === null ? 'Enter a valid date and time.' : form.errors[field])}
          />
        );
      })}
    </SaveForm>
  );
}

/** Ends at the next full minute, so that the range includes the latest alerts. */
function lastHours(hours: number, zone: string): Range {
  const until = Math.ceil((Date.now() + 1) / 60_000) * 60_000;
  return { since: toLocal(until - hours * HOUR_MS, zone), until: toLocal(until, zone) };
}
