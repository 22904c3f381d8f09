import { createMonitorSchema, type Monitor, type MonitorInput } from '@tocsin/contracts/monitors/monitor';

type MonitorField = keyof MonitorInput;
type FieldValue = MonitorInput[MonitorField];

// The keys of a schema are those of what it gives.
const fieldNames = (): MonitorField[] => Object.keys(createMonitorSchema.shape) as MonitorField[];

/** What a monitor was told to be, in the order of the documentation; fields that are not set are left out. */
export function monitorFields(monitor: Monitor): [MonitorField, FieldValue][] {
  return fieldNames()
    .map((field): [MonitorField, FieldValue] => [field, monitor[field]])
    .filter(([, value]) => value !== null);
}

/** Those of `monitorFields` that are not as they would be without being named. */
export function ownFields(monitor: Monitor): [MonitorField, FieldValue][] {
  const defaults: MonitorInput = createMonitorSchema.parse({ name: '-', url: 'https://example.com' });
  return monitorFields(monitor).filter(
    ([field, value]) =>
      field === 'name' || field === 'url' || JSON.stringify(value) !== JSON.stringify(defaults[field]),
  );
}
