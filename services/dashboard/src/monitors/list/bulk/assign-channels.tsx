import { MultiSelect, Skeleton } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { useQuery } from '@tanstack/react-query';
import type { FieldError } from '@tocsin/contracts/errors';
import { LIMITS } from '@tocsin/contracts/limits';
import type { ReactNode } from 'react';
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

/** Adds monitors to the lists of channels. It is safe to try again after an error, because repeated requests change nothing. */
export function AssignChannels({ monitors, onDone, onCancel }: BulkDialogProps): ReactNode {
  const channels = useQuery(channelsQuery);
  const refresh = useRefresh();
  const { progress, run } = useBulkRun();
  const form = useApiForm<AssignValues>({ initialValues: { channelIds: [] }, validate: findErrors });
  const [isOpen, dropdown] = useDisclosure();
  const { onChange, ...input } = form.getInputProps('channelIds');
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
            <MultiSelect
              label="Channels"
              description="They also receive the alerts of these monitors."
              data={list.map(({ id, name, allMonitors }) => ({
                value: id,
                label: allMonitors ? `${name} (receives all monitors)` : name,
                disabled: allMonitors,
              }))}
              {...input}
              searchable
              hidePickedOptions
              nothingFoundMessage="No channels found"
              openOnFocus={false}
              dropdownOpened={isOpen}
              onDropdownOpen={dropdown.open}
              onDropdownClose={dropdown.close}
              onChange={(ids: string[]) => {
                // The list covers the buttons of the dialog.
                dropdown.close();
                onChange(ids);
              }}
              // oxlint-disable-next-line jsx-a11y/no-autofocus -- the field may load after the dialog has opened
              autoFocus
              data-autofocus
            />
            <ProgressBar progress={progress} />
          </SaveForm>
        )
      }
    </Loaded>
  );
}
