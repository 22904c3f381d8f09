import {
  createMonitorSchema,
  type Monitor,
  MONITOR_DEFAULTS,
  type MonitorInput,
} from '@tocsin/contracts/monitors/monitor';
import { asciiWords, secretVariable } from '@tocsin/contracts/words';

type MonitorField = keyof MonitorInput;
type FieldValue = MonitorInput[MonitorField];

/** Configuration fields that are set, in the order of the documentation. */
export function monitorFields(monitor: Monitor): [MonitorField, FieldValue][] {
  const fields = Object.keys(createMonitorSchema.shape) as MonitorField[];
  return fields
    .map((field): [MonitorField, FieldValue] => [field, monitor[field]])
    .filter(([field, value]) => value !== null && (field !== 'labels' || Object.keys(value).length > 0));
}

/** Configuration fields that differ from their defaults. */
export function ownFields(monitor: Monitor): [MonitorField, FieldValue][] {
  const defaults: Partial<MonitorInput> = MONITOR_DEFAULTS;
  return monitorFields(monitor).filter(
    ([field, value]) => JSON.stringify(value) !== JSON.stringify(defaults[field]),
  );
}

const MAX_CHARACTERS = 40;
/** Taken from the end of the ID, which is random. */
const ID_CHARACTERS = 8;

/**
 * Environment variables that replace header values, which may be secrets. Their names contain part of the monitor's ID, so that monitors do
 * not share variables.
 * @returns variables by header
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
    const variable = secretVariable(words, id.slice(-ID_CHARACTERS));
    let unique = variable;
    for (let count = 2; taken.has(unique); count += 1) unique = `${variable}_${count}`;
    taken.add(unique);
    variables.set(header, unique);
  }
  return variables;
}

/** Names the environment variable that replaces the key of the client certificate. Null without a key. */
export function keyVariable({ id, name, tls }: Pick<Monitor, 'id' | 'name' | 'tls'>): string | null {
  if (tls?.key === undefined) return null;
  return secretVariable(`${toWords(name) || 'monitor'}_tls_key`, id.slice(-ID_CHARACTERS));
}

function toWords(text: string): string {
  return asciiWords(text, '_', MAX_CHARACTERS);
}
