import { notifications } from '@mantine/notifications';
import { useMutation, type UseMutationResult, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { createMonitorSchema, type Monitor, updateMonitorSchema } from '@tocsin/contracts/monitors/monitor';
import { createMonitor, monitorQuery, monitorsQuery, updateMonitor } from '../queries.ts';
import { changesBetween, type MonitorFormValues, toBody, toValues } from './form-values.ts';

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
