import { Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { IconRotateClockwise } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import type { Channel } from '@tocsin/contracts/channels/channel';
import { type Delivery, redeliverySchema } from '@tocsin/contracts/deliveries/delivery';
import type { ReactNode } from 'react';
import { useRefresh } from '../api/mutations.ts';
import { api, describeError, isAboutFields } from '../api/request.ts';
import { IconButton } from '../components/buttons.tsx';
import { useApiForm } from '../components/form.ts';
import { formatUtc } from '../components/format.ts';
import { ErrorNotice } from '../components/load-states.tsx';
import { SaveForm } from '../components/save-form.tsx';
import { Quiet } from '../components/text.tsx';
import { localToIso, readerZone, toLocal } from '../components/zoned-time.ts';
import { channelQuery, deliveryQuery, describeRedelivery, redeliverAll } from './queries.ts';

const HOUR_MS = 3_600_000;

interface RedeliverButtonProps {
  readonly delivery: Delivery;
  readonly channel: Channel;
}

export function RedeliverButton({ delivery, channel }: RedeliverButtonProps): ReactNode {
  const refresh = useRefresh();
  const { mutate, error, isPending } = useMutation({
    mutationFn: () => api('POST /api/dashboard/deliveries/:id/redeliver', { id: delivery.id }),
    onSuccess: async () => {
      notifications.show({ message: 'The delivery is sent again now.' });
      await refresh(deliveryQuery(delivery.id), channelQuery(channel.id));
    },
  });
  return (
    <Stack gap="xs" align="flex-start">
      <IconButton
        icon={IconRotateClockwise}
        disabled={!channel.enabled}
        loading={isPending}
        onClick={() => mutate()}
      >
        Redeliver
      </IconButton>
      {!channel.enabled && <Quiet size="xs">Enable the channel first.</Quiet>}
      {error !== null && <ErrorNotice error={error} />}
    </Stack>
  );
}

/** Sends all undelivered webhooks of a time range again. */
export function RedeliverRange({ channel }: { readonly channel: Channel }): ReactNode {
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

/** Local times in the zone of the reader, such as `2026-03-01T12:00`. */
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
  const form = useApiForm<Range>({ schema: redeliverySchema, initialValues: lastHours(24, zone), toBody });
  const save = async (values: Range): Promise<void> => {
    try {
      const result = await redeliverAll(() =>
        api('POST /api/dashboard/channels/:id/redeliver', { id: channelId, body: toBody(values) }),
      );
      notifications.show({ message: describeRedelivery(result) });
      onDone();
    } catch (error) {
      if (isAboutFields(error)) throw error;
      // A long range takes minutes and the dialog may be closed by now, so the error appears outside it.
      notifications.show({ color: 'red', message: describeError(error), autoClose: false });
    } finally {
      // Also after an error: some deliveries may be pending again.
      void refresh(channelQuery(channelId));
    }
  };
  return (
    <SaveForm form={form} action="Redeliver" save={save} onCancel={onDone} dialog>
      <Quiet>
        Sends all held, failed and pending deliveries of this time range again, in order. Successful
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
            description={iso === null ? 'No valid time' : formatUtc(new Date(iso))}
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
