import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { asciiWords } from '@tocsin/contracts/words';
import { Document } from 'yaml';
import { headerVariables, ownFields } from './monitor-fields.ts';

const KEY_CHARACTERS = 100;

/**
 * The monitor as a `tocsin.yaml` (docs/monitors-as-code.md): what differs from the defaults, with environment variables for the values
 * of headers. A monitor without a source has none there, and `tocsin apply` asks for one.
 */
export function monitorYaml(monitor: Monitor): string {
  const { name, externalId, source } = monitor;
  const own = ownFields(monitor)
    .filter(([field]) => field !== 'externalId' && field !== 'source')
    .map(([field, value]) => [field, field === 'headers' ? headerPlaceholders(monitor) : literal(value)]);
  const entry = {
    externalId: literal(externalId ?? (asciiWords(name, '-', KEY_CHARACTERS) || 'monitor')),
    ...Object.fromEntries(own),
  };
  const file = { ...(source !== null && { source: literal(source) }), monitors: [entry] };
  return new Document(file).toString({ lineWidth: 0, singleQuote: true });
}

/** Texts as they must be written so that they are read as themselves: the command puts variables in the place of `${NAME}`. */
function literal(value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll('${', () => '$${');
  if (Array.isArray(value)) return value.map(literal);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, literal(part)]));
}

function headerPlaceholders(monitor: Monitor): Record<string, string> {
  return Object.fromEntries(
    [...headerVariables(monitor)].map(([header, variable]) => [header, `\${${variable}}`]),
  );
}

/** Why `tocsin apply` does not take a monitor over with its file; null where it is managed so already. */
export function ownershipNote({ externalId, source }: Pick<Monitor, 'externalId' | 'source'>): string | null {
  if (externalId === null)
    return 'This monitor has no external id, by which files know their monitors: applying this makes a second one.';
  if (source === null) return 'This monitor belongs to no source: applying this is refused.';
  return null;
}
