import { MultiSelect, type MultiSelectProps, Skeleton } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useQuery } from '@tanstack/react-query';
import type { FieldError } from '@tocsin/contracts/errors';
import { LIMITS } from '@tocsin/contracts/limits';
import { type ReactNode, useState } from 'react';
import { useRefresh } from '../../../api/mutations.ts';
import { api } from '../../../api/request.ts';
import { channelsQuery } from '../../../channels/queries.ts';
import { useApiForm } from '../../../components/form.ts';
import { formatCount, joinWords } from '../../../components/format.ts';
import { Loaded } from '../../../components/load-states.tsx';
import { SaveForm } from '../../../components/save-form.tsx';
import { Quiet, TextLink } from '../../../components/text.tsx';
import { type BulkDialogProps, ProgressBar, useBulkRun } from './bulk-run.tsx';

type AssignValues = { readonly channelIds: string[] };

const findErrors = ({ channelIds }: AssignValues): FieldError[] =>
  channelIds.length === 0 ? [{ path: 'channelIds', message: 'Choose at least one channel.' }] : [];

/** Adds monitors to the lists of channels. Repeating it changes nothing, so an error can be answered by trying again. */
export function AssignChannels({ monitors, onDone, onCancel }: BulkDialogProps): ReactNode {
  const channels = useQuery(channelsQuery);
  const refresh = useRefresh();
  const { progress, run } = useBulkRun();
  const form = useApiForm<AssignValues>({ initialValues: { channelIds: [] }, validate: findErrors });
  const save = async ({ channelIds }: AssignValues): Promise<void> => {
    const ids = monitors.map((monitor) => monitor.id);
    const chosen = (channels.data ?? []).filter(({ id }) => channelIds.includes(id));
    for (const { id } of chosen) {
      const send = (monitorIds: readonly string[]): Promise<unknown> =>
        api('POST /api/dashboard/channels/:id/monitors', { id, body: { monitorIds: [...monitorIds] } });
      await run(ids, send, LIMITS.bulkChannelMonitors);
    }
    void refresh(channelsQuery, { queryKey: ['channel'] });
    const names = joinWords(chosen.map(({ name }) => name));
    const verb = monitors.length === 1 ? 'alerts' : 'alert';
    notifications.show({ message: `${formatCount(monitors.length, 'monitor')} now ${verb} ${names}.` });
    onDone();
  };
  return (
    <Loaded query={channels} pending={<Skeleton height={140} />}>
      {(list) =>
        list.length === 0 ? (
          <Quiet>
            No channels yet. <TextLink to="/channels/new">Create a channel</TextLink> first.
          </Quiet>
        ) : (
          <SaveForm form={form} action="Assign" save={save} onCancel={onCancel} layout="dialog">
            <ChannelsField
              label="Channels"
              description="They also receive the alerts of these monitors."
              data={list.map(({ id, name, allMonitors }) => ({
                value: id,
                label: allMonitors ? `${name} (receives all monitors)` : name,
                disabled: allMonitors,
              }))}
              {...form.getInputProps('channelIds')}
            />
            <ProgressBar progress={progress} />
          </SaveForm>
        )
      }
    </Loaded>
  );
}

/** Its list closes after each choice, because it covers the buttons of the dialog. */
function ChannelsField({ onChange, ...props }: MultiSelectProps): ReactNode {
  const [isOpen, setOpen] = useState(false);
  return (
    <MultiSelect
      {...props}
      searchable
      hidePickedOptions
      nothingFoundMessage="No channels found"
      openOnFocus={false}
      dropdownOpened={isOpen}
      onDropdownOpen={() => setOpen(true)}
      onDropdownClose={() => setOpen(false)}
      onChange={(ids: string[]) => {
        setOpen(false);
        onChange?.(ids);
      }}
      // oxlint-disable-next-line jsx-a11y/no-autofocus -- the field of a dialog, which may load after the dialog has opened
      autoFocus
      data-autofocus
    />
  );
}
