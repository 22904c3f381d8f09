import { notifications } from '@mantine/notifications';
import { useMutation, type UseMutationResult, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { createMonitorSchema, type Monitor, updateMonitorSchema } from '@tocsin/contracts/monitors/monitor';
import { useState } from 'react';
import { ApiError } from '../../api/request.ts';
import { useApiForm } from '../../components/form.ts';
import { createMonitor, monitorQuery, monitorsQuery, updateMonitor } from '../queries.ts';
import {
  atControl,
  changesBetween,
  judgeWith,
  type MonitorFormValues,
  toBody,
  toValues,
} from './form-values.ts';

export type MonitorForm = ReturnType<typeof useApiForm<MonitorFormValues>>;

/** @param stored the monitor to edit, as it was when the form opened; null: a new one */
export function useMonitorForm(stored: Monitor | null): MonitorForm {
  const [schema] = useState(() => judgeWith(stored));
  const [initialValues] = useState(() => toValues(stored));
  const form = useApiForm({ schema, initialValues });
  return {
    ...form,
    applyErrors: (error) =>
      form.applyErrors(error instanceof ApiError ? atControls(error, form.getValues()) : error),
  };
}

function atControls(error: ApiError, values: MonitorFormValues): ApiError {
  return new ApiError({
    status: error.status,
    title: error.title,
    detail: error.message,
    errors: error.fields.map((field) => atControl(field, values)),
  });
}

/**
 * Creates the monitor, or sends what was changed, and goes to its page.
 * @param stored the monitor as it was when the form opened; null: a new one
 */
export function useSaveMonitor(
  stored: Monitor | null,
  onError: (error: Error) => void,
): UseMutationResult<Monitor, Error, MonitorFormValues> {
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  return useMutation({
    mutationFn: (values: MonitorFormValues) => save(stored, values),
    onSuccess: async (monitor) => {
      queryClient.setQueryData(
        monitorsQuery.queryKey,
        (monitors) => monitors && [monitor, ...monitors.filter(({ id }) => id !== monitor.id)],
      );
      queryClient.setQueryData(monitorQuery(monitor.id).queryKey, (known) => known && { ...known, monitor });
      void queryClient.invalidateQueries({ queryKey: ['regions'] });
      notifications.show({
        message:
          stored === null ? `${monitor.name} is watched from now on` : `${monitor.name} has its new settings`,
      });
      await navigate({
        to: '/monitors/$monitorId',
        params: { monitorId: monitor.id },
        ignoreBlocker: true,
      });
    },
    onError,
  });
}

async function save(stored: Monitor | null, values: MonitorFormValues): Promise<Monitor> {
  const body = toBody(values, stored);
  if (stored === null) return createMonitor(createMonitorSchema.parse(body));
  const changes = changesBetween(toBody(toValues(stored), stored), body);
  return Object.keys(changes).length === 0
    ? stored
    : updateMonitor(stored.id, updateMonitorSchema.parse(changes));
}
