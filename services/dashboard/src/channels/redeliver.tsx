import { Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { IconRotateClockwise } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { Channel } from '@tocsin/contracts/channels/channel';
import { redeliverySchema } from '@tocsin/contracts/deliveries/delivery';
import type { Delivery } from '@tocsin/contracts/deliveries/delivery';
import type { ReactNode } from 'react';
import { describeError } from '../api/api-error.ts';
import { ErrorNotice } from '../app/page-states.tsx';
import { formatUtc } from '../components/format-time.ts';
import { useApiForm } from '../components/use-api-form.ts';
import { localToIso, readerZone, toLocal } from '../components/zoned-time.ts';
import { channelQuery, deliveryQuery, describeRedelivery, redeliver, redeliverRange } from './queries.ts';

const HOUR_MS = 3_600_000;
const NO_MOMENT = 'Give a date, and a time that the clocks show on it.';

interface Range extends Record<string, string> {
  /** What the reader's clocks show. */
  readonly since: string;
  readonly until: string;
}

/** Makes everything undelivered of a span of time due again. */
export function RedeliverRange({ channel }: { readonly channel: Channel }): ReactNode {
  const [opened, { open, close }] = useDisclosure();
  return (
    <>
      <Button
        size="xs"
        variant="default"
        leftSection={<IconRotateClockwise size={14} aria-hidden />}
        onClick={open}
        aria-haspopup="dialog"
      >
        Redeliver a time range
      </Button>
      <Modal opened={opened} onClose={close} title="Redeliver a time range">
        {channel.enabled ? (
          <RangeForm channel={channel} onDone={close} />
        ) : (
          <Text size="sm">Enable the channel first: a channel that is disabled sends nothing.</Text>
        )}
      </Modal>
    </>
  );
}

function RangeForm({
  channel,
  onDone,
}: {
  readonly channel: Channel;
  readonly onDone: () => void;
}): ReactNode {
  const queryClient = useQueryClient();
  const zone = readerZone();
  const form = useApiForm<Range>({
    schema: redeliverySchema,
    initialValues: lastHours(24, zone),
    toBody: (values) => toBody(values, zone),
  });
  const { mutate, isPending } = useMutation({
    mutationFn: (values: Range) => redeliverRange(channel.id, toBody(values, zone)),
    onSuccess: (result) => {
      notifications.show({ message: describeRedelivery(result) });
      onDone();
    },
    onError: (failure) => {
      // A long range takes minutes: the dialog may be closed by now, so the error is shown outside it.
      if (!form.applyErrors(failure))
        notifications.show({ color: 'red', message: describeError(failure), autoClose: false });
    },
    // After an error, too: some deliveries may be due again.
    onSettled: () => queryClient.invalidateQueries({ queryKey: channelQuery(channel.id).queryKey }),
  });
  return (
    <form noValidate onSubmit={form.onSubmit((values) => mutate(values))}>
      <Stack>
        <Text size="sm" c="var(--text-quiet)">
          Everything held, failed or pending of this time is sent again, in its order. What arrived is left
          alone. Times are of {zone}.
        </Text>
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
        {(['since', 'until'] as const).map((field) => (
          <TextInput
            key={field}
            type="datetime-local"
            label={field === 'since' ? 'Since' : 'Until'}
            required
            description={describeUtc(form.values[field], zone)}
            {...form.getInputProps(field)}
            error={
              form.errors[field] && (isMoment(form.values[field], zone) ? form.errors[field] : NO_MOMENT)
            }
          />
        ))}
        <Group justify="flex-end">
          <Button variant="default" onClick={onDone}>
            Cancel
          </Button>
          <Button type="submit" loading={isPending}>
            Redeliver
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function toBody({ since, until }: Range, zone: string): { since: string; until: string } {
  return { since: localToIso(since, zone) ?? '', until: localToIso(until, zone) ?? '' };
}

/** Until the next full minute, so that what happened just now is in it. */
function lastHours(hours: number, zone: string): Range {
  const until = Math.ceil((Date.now() + 1) / 60_000) * 60_000;
  return { since: toLocal(until - hours * HOUR_MS, zone), until: toLocal(until, zone) };
}

function describeUtc(local: string, zone: string): string {
  const iso = localToIso(local, zone);
  return iso === null ? 'No such moment' : formatUtc(new Date(iso));
}

function isMoment(local: string, zone: string): boolean {
  return localToIso(local, zone) !== null;
}

interface RedeliverButtonProps {
  readonly delivery: Delivery;
  readonly channel: Channel;
}

export function RedeliverButton({ delivery, channel }: RedeliverButtonProps): ReactNode {
  const queryClient = useQueryClient();
  const { mutate, error, isPending } = useMutation({
    mutationFn: () => redeliver(delivery.id),
    onSuccess: async () => {
      notifications.show({ message: 'It is due again at once.' });
      await Promise.all([
        queryClient.invalidateQueries({ queryKey: deliveryQuery(delivery.id).queryKey }),
        queryClient.invalidateQueries({ queryKey: [...channelQuery(channel.id).queryKey, 'deliveries'] }),
      ]);
    },
  });
  return (
    <Stack gap="xs" align="flex-start">
      <Button
        variant="default"
        size="sm"
        leftSection={<IconRotateClockwise size={16} aria-hidden />}
        disabled={!channel.enabled}
        loading={isPending}
        onClick={() => mutate()}
      >
        Redeliver
      </Button>
      {!channel.enabled && (
        <Text size="xs" c="var(--text-quiet)">
          Enable the channel first.
        </Text>
      )}
      {error !== null && <ErrorNotice error={error} />}
    </Stack>
  );
}
