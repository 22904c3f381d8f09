import { SimpleGrid } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { createMonitorSchema, type Monitor, updateMonitorSchema } from '@tocsin/contracts/monitors/monitor';
import { type ReactNode, useState } from 'react';
import { api, describeError } from '../../api/request.ts';
import { channelsQuery } from '../../channels/queries.ts';
import { changedFields, useApiForm } from '../../components/form.ts';
import { Panel } from '../../components/page.tsx';
import { Quiet } from '../../components/text.tsx';
import { SaveForm } from '../../components/save-form.tsx';
import { toLabels } from '../../labels/label-text.ts';
import { monitorQuery, putInList } from '../queries.ts';
import { pathsOf, SECTIONS } from '../fields/fields.tsx';
import { channelChange, type ChannelChoices, chosenChannels } from './channel-choices.ts';
import { ChannelPicker } from './channel-picker.tsx';
import { FieldControl } from './controls.tsx';
import classes from './controls.module.css';
import {
  findErrors,
  type MonitorForm as FormOfMonitor,
  type MonitorFormValues,
  toBody,
  toCopy,
  toFormField,
  toValues,
} from './form-values.ts';
import { TrialCheck } from './trial-check.tsx';

interface MonitorFormProps {
  /** The stored monitor when the form opened, or null for a new monitor. */
  readonly monitor: Monitor | null;
  readonly original?: Monitor | undefined;
}

export function MonitorForm({ monitor, original }: MonitorFormProps): ReactNode {
  const navigate = useNavigate();
  const [initialValues] = useState(() => (original ? toCopy(original) : toValues(monitor)));
  const form = useApiForm({
    initialValues,
    validate: (values) => findErrors(values, monitor),
    toField: toFormField,
  });
  const save = useSave({ monitor, original });
  return (
    <SaveForm
      layout="long"
      form={form}
      action={monitor === null ? 'Create monitor' : 'Save changes'}
      save={async (values) => {
        const monitorId = await save(values);
        await navigate({ to: '/monitors/$monitorId', params: { monitorId }, ignoreBlocker: true });
      }}
      onCancel={() =>
        void (monitor === null
          ? navigate({ to: '/' })
          : navigate({ to: '/monitors/$monitorId', params: { monitorId: monitor.id } }))
      }
    >
      {Object.entries(SECTIONS).map(([section, fields]) => (
        <Panel key={section} title={section}>
          <Folded isFolded={section === 'Connection'} isOpen={isConnectionSet(form)}>
            <SimpleGrid cols={{ base: 1, xs: 2 }}>
              {section === 'Assertions' && (
                <div className={classes['wide']}>
                  <Quiet>
                    A check passes if the response arrives in time with a status code from 200 to 399. Each
                    assertion that you set must also hold.
                  </Quiet>
                </div>
              )}
              {pathsOf(fields).map((path) => (
                <FieldControl key={path} form={form} path={path} />
              ))}
            </SimpleGrid>
          </Folded>
        </Panel>
      ))}
      <ChannelPicker
        labels={toLabels(form.values.labels)}
        monitorId={(monitor ?? original)?.id ?? null}
        choices={form.values.channels}
        onChange={(channels) => form.setFieldValue('channels', channels)}
      />
      <TrialCheck form={form} stored={monitor} />
    </SaveForm>
  );
}

interface FoldedProps {
  readonly isFolded: boolean;
  /** Opens the fields when it becomes true. */
  readonly isOpen: boolean;
  readonly children: ReactNode;
}

/** Folds away fields that most monitors do not need. */
function Folded({ isFolded, isOpen, children }: FoldedProps): ReactNode {
  if (!isFolded) return children;
  return (
    <details open={isOpen}>
      <summary>Redirects, IP version, address, certificates</summary>
      <div className={classes['folded']}>{children}</div>
    </details>
  );
}

/** Reports whether a field of the connection differs from its default or has an error. */
function isConnectionSet({ errors, values }: FormOfMonitor): boolean {
  const { followRedirects, ipFamily, connectTo, tls } = toBody(values, null);
  const isSet = followRedirects !== true || [ipFamily, connectTo, tls].some((value) => value !== null);
  return isSet || pathsOf(SECTIONS['Connection'] ?? {}).some((path) => errors[path] !== undefined);
}

/** @returns a function that saves the monitor, then its channels, and returns the monitor's ID */
function useSave({ monitor, original }: MonitorFormProps): (values: MonitorFormValues) => Promise<string> {
  const queryClient = useQueryClient();
  /** Never rejects, because the monitor is already saved and submitting the form again would create a second one. */
  const saveChannels = async ({ id, name }: Monitor, choices: ChannelChoices): Promise<void> => {
    try {
      const channels = await queryClient.ensureQueryData(channelsQuery);
      const before = monitor === null ? [] : chosenChannels(channels, id, {});
      const chosen = chosenChannels(channels, (monitor ?? original)?.id ?? null, choices);
      const change = channelChange(before, chosen);
      if (change === null) return;
      await api('PATCH /api/dashboard/monitors/:id/channels', { id, body: change });
      void queryClient.invalidateQueries({ queryKey: channelsQuery.queryKey });
    } catch (error) {
      const message = `The channels of ${name} were not changed. ${describeError(error)}`;
      notifications.show({ color: 'red', message, autoClose: false });
    }
  };
  return async (values) => {
    const saved = await createOrUpdate(monitor, values);
    putInList(queryClient, saved);
    queryClient.setQueryData(
      monitorQuery(saved.id).queryKey,
      (cached) => cached && { ...cached, monitor: saved },
    );
    void queryClient.invalidateQueries({ queryKey: ['regions'] });
    notifications.show({ message: `${saved.name} was ${monitor === null ? 'created' : 'updated'}` });
    await saveChannels(saved, values.channels);
    return saved.id;
  };
}

/** @returns the saved monitor, or `stored` itself if nothing has changed */
async function createOrUpdate(stored: Monitor | null, values: MonitorFormValues): Promise<Monitor> {
  const body = toBody(values, stored);
  if (stored === null) {
    const input = createMonitorSchema.parse(body);
    return (await api('POST /api/dashboard/monitors', { body: input })).monitor;
  }
  const changes = changedFields(toBody(toValues(stored), stored), body);
  if (Object.keys(changes).length === 0) return stored;
  const update = updateMonitorSchema.parse(changes);
  return (await api('PUT /api/dashboard/monitors/:id', { id: stored.id, body: update })).monitor;
}
