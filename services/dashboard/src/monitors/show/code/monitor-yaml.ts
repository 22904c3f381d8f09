import type { Monitor } from '@tocsin/contracts/monitor';
import { ownFields } from './monitor-fields.ts';
import { headerVariables } from './placeholders.ts';
import { yamlEntries, type YamlValue } from './yaml.ts';

const KEY_CHARACTERS = 100;

/**
 * The monitor as a `tocsin.yaml` (docs/monitors-as-code.md): what differs from the defaults, with environment variables for the values
 * of headers. A monitor without a source has none there, and `tocsin apply` asks for one.
 */
export function monitorYaml(monitor: Monitor): string {
  const { name, externalId, source } = monitor;
  const own = ownFields(monitor).filter(([field]) => field !== 'externalId' && field !== 'source');
  const entries: [string, YamlValue][] = [
    ['externalId', literal(externalId ?? keyFor(name))],
    ...own.map(([field, value]): [string, YamlValue] => [
      field,
      field === 'headers' ? headerPlaceholders(monitor) : toYaml(value),
    ]),
  ];
  const [first = '', ...rest] = yamlEntries(entries, 4);
  const top = source === null ? [] : yamlEntries([['source', literal(source)]], 0);
  return [...top, 'monitors:', `  - ${first.trimStart()}`, ...rest, ''].join('\n');
}

/** A key that one can read. */
function keyFor(name: string): string {
  const words = name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, KEY_CHARACTERS)
    .replaceAll(/^-|-$/g, '');
  return words || 'monitor';
}

/** As it must be written so that it is read as itself: the command puts variables in the place of `${NAME}`. */
function literal(text: string): string {
  return text.replaceAll('${', () => '$${');
}

function headerPlaceholders(monitor: Monitor): Record<string, string> {
  return Object.fromEntries(
    [...headerVariables(monitor)].map(([header, variable]) => [header, `\${${variable}}`]),
  );
}

function toYaml(value: ReturnType<typeof ownFields>[number][1]): YamlValue {
  if (value === null) return {};
  if (typeof value === 'string') return literal(value);
  if (typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map(literal);
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, part]) =>
      part === undefined ? [] : [[key, typeof part === 'string' ? literal(part) : part]],
    ),
  );
}
