import { createMonitorSchema, type Monitor, type MonitorInput } from '@tocsin/contracts/monitors/monitor';
import { asciiWords, secretVariable } from '@tocsin/contracts/words';

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

const MOST_CHARACTERS = 40;
/** Of the monitor's id: the last ones are random. */
const DIGITS = 8;

/**
 * The names of environment variables that stand for the values of a monitor's headers, which may be secret: made of the names of the
 * monitor and the header, and of the monitor's id, so that two monitors never share one.
 * @returns by header
 */
export function headerVariables({
  id,
  name,
  headers,
}: Pick<Monitor, 'id' | 'name' | 'headers'>): Map<string, string> {
  const variables = new Map<string, string>();
  const taken = new Set<string>();
  for (const header of Object.keys(headers ?? {})) {
    const words = `${toWords(name) || 'monitor'}_${toWords(header) || 'header'}`;
    const variable = secretVariable(words, id.slice(-DIGITS));
    let different = variable;
    for (let count = 2; taken.has(different); count += 1) different = `${variable}_${count}`;
    taken.add(different);
    variables.set(header, different);
  }
  return variables;
}

function toWords(text: string): string {
  return asciiWords(text, '_', MOST_CHARACTERS);
}
