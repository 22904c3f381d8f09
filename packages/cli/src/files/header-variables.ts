import { escapePlaceholders } from './interpolate.ts';

/** Header fields with their values out of sight: variables of the environment stand for them. */
export interface HiddenHeaders {
  readonly headers: Readonly<Record<string, string>>;
  /** The values by variable. */
  readonly variables: ReadonlyMap<string, string>;
}

/** Headers whose values are no secrets. */
const OPEN = new Set(['accept', 'accept-language', 'cache-control', 'content-type', 'user-agent']);

/**
 * @param taken names of variables that have another value; those made here are added
 * @param staysAsItIs of values that hold variables already
 */
export function hideHeaders(
  monitorKey: string,
  headers: Readonly<Record<string, string>>,
  taken: Set<string>,
  staysAsItIs: (value: string) => boolean = () => false,
): HiddenHeaders {
  const variables = new Map<string, string>();
  const hidden = Object.entries(headers).map(([name, value]): [string, string] => {
    if (staysAsItIs(value)) return [name, value];
    if (OPEN.has(name.toLowerCase())) return [name, escapePlaceholders(value)];
    const variable = variableFor(`${monitorKey}_${name}`, taken);
    variables.set(variable, value);
    return [name, `\${${variable}}`];
  });
  return { headers: Object.fromEntries(hidden), variables };
}

function variableFor(text: string, taken: Set<string>): string {
  const words = text
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toUpperCase()
    .replaceAll(/[^A-Z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '');
  const name = /^[A-Z]/.test(words) ? words : `_${words}`;
  let variable = name;
  for (let count = 2; taken.has(variable); count += 1) variable = `${name}_${count}`;
  taken.add(variable);
  return variable;
}
