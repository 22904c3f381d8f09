import type { Monitor } from '@tocsin/contracts/monitor';
import { ownFields } from './monitor-fields.ts';
import { headerVariables } from './placeholders.ts';
import { yamlEntries, type YamlValue } from './yaml.ts';

/** The monitor as an entry of `tocsin.yaml`: what differs from the defaults, with environment variables for the values of headers. */
export function monitorYaml(monitor: Monitor): string {
  const entries = ownFields(monitor).map(([field, value]): [string, YamlValue] => [
    field,
    field === 'headers' ? headerPlaceholders(monitor) : toYaml(value),
  ]);
  const [first = '', ...rest] = yamlEntries(entries, 4);
  return ['monitors:', `  - ${first.trimStart()}`, ...rest, ''].join('\n');
}

function headerPlaceholders(monitor: Monitor): Record<string, string> {
  return Object.fromEntries(
    [...headerVariables(monitor)].map(([header, variable]) => [header, `\${${variable}}`]),
  );
}

function toYaml(value: ReturnType<typeof ownFields>[number][1]): YamlValue {
  if (value === null) return {};
  if (typeof value !== 'object' || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, part]) => (part === undefined ? [] : [[key, part]])),
  );
}
