import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { asciiWords } from '@tocsin/contracts/words';
import { Document } from 'yaml';
import { headerVariables, keyVariable, ownFields } from './monitor-fields.ts';

const KEY_CHARACTERS = 100;

/**
 * The monitor as a `tocsin.yaml` (docs/monitors-as-code.md), without default values and with environment variables for secrets.
 */
export function monitorYaml(monitor: Monitor): string {
  const { name, externalId, source } = monitor;
  const own = ownFields(monitor)
    .filter(([field]) => field !== 'externalId' && field !== 'source')
    .map(([field, value]) => [field, valueOf(monitor, field, value)]);
  const entry = {
    externalId: literal(externalId ?? (asciiWords(name, '-', KEY_CHARACTERS) || 'monitor')),
    ...Object.fromEntries(own),
  };
  const file = { ...(source !== null && { source: literal(source) }), monitors: [entry] };
  return new Document(file).toString({ lineWidth: 0, singleQuote: true });
}

/** Escapes `${` in all texts, because `tocsin apply` replaces `${NAME}` with a variable. */
function literal(value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll('${', () => '$${');
  if (Array.isArray(value)) return value.map(literal);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, literal(part)]));
}

function valueOf(monitor: Monitor, field: string, value: unknown): unknown {
  if (field === 'headers') return headerPlaceholders(monitor);
  const variable = field === 'tls' ? keyVariable(monitor) : null;
  return variable === null ? literal(value) : { ...monitor.tls, key: `\${${variable}}` };
}

function headerPlaceholders(monitor: Monitor): Record<string, string> {
  return Object.fromEntries(
    [...headerVariables(monitor)].map(([header, variable]) => [header, `\${${variable}}`]),
  );
}

/** Explains why `tocsin apply` would not update this monitor, or null if it would. */
export function ownershipNote({ externalId, source }: Pick<Monitor, 'externalId' | 'source'>): string | null {
  if (externalId === null)
    return 'This monitor has no external ID. Applying this file creates a second monitor.';
  if (source === null) return 'This monitor has no source, so `tocsin apply` rejects this file.';
  return null;
}
