type Env = Readonly<Record<string, string | undefined>>;

const PLACEHOLDER = /\$\$\{|\$\{([^}]*)\}|\$\{/g;
const VARIABLE = /^([A-Za-z_]\w*)(?::-(.*))?$/s;

interface Problems {
  readonly onError: (message: string) => void;
  /** Called for a variable without a value and without a default. */
  readonly onUnset: (name: string, state: UnsetState) => void;
}
export type UnsetState = 'is not set' | 'is empty';

/**
 * Replaces `${NAME}` with the environment variable, and `${NAME:-default}` with the default if the variable is unset or empty. `$${` is an
 * escaped `${`. Values of variables are never parsed as YAML. An unset variable becomes a stand-in, so that it causes only one error.
 * @param path path of the text in its file
 */
export function interpolate(
  text: string,
  path: readonly string[],
  env: Env,
  { onError, onUnset }: Problems,
): string {
  return text.replaceAll(PLACEHOLDER, (placeholder: string, inner: string | undefined, offset: number) => {
    if (placeholder === '$${') return '${';
    const [, name, fallback] = VARIABLE.exec(inner ?? '') ?? [];
    if (name === undefined) {
      onError(`${placeholder} is not a variable; write $${placeholder} for this literal text`);
      return 'invalid';
    }
    // The default would end at the first brace, and the rest would become text.
    if (fallback?.includes('${') === true) {
      onError(`the default of ${name} contains another variable, which is not supported`);
      return 'invalid';
    }
    const value = env[name];
    if (value !== undefined && value !== '') return value;
    if (fallback !== undefined) return fallback;
    onUnset(name, value === undefined ? 'is not set' : 'is empty');
    return standIn(name, path, text, placeholder, offset);
  });
}

/** Stand-ins for fields that do not accept arbitrary text. */
const STAND_INS: Readonly<Record<string, string>> = { method: 'GET', type: 'HTTP' };
const PEM_KINDS: Readonly<Record<string, string>> = {
  ca: 'CERTIFICATE',
  certificate: 'CERTIFICATE',
  key: 'PRIVATE KEY',
};
const MAX_CHARACTERS = 40;

/** Stand-ins are unique, because keys must not repeat. */
function standIn(
  name: string,
  path: readonly string[],
  text: string,
  placeholder: string,
  offset: number,
): string {
  const field = path.at(-1) ?? '';
  if (/url$/i.test(field)) return urlStandIn(text, placeholder, offset);
  if (path.at(-2) === 'tls' && PEM_KINDS[field] !== undefined)
    return `-----BEGIN ${PEM_KINDS[field]}-----\nAAAA\n-----END ${PEM_KINDS[field]}-----\n`;
  if (field === 'secret') return `${offset === 0 ? 'whsec_' : ''}${'A'.repeat(32)}`;
  const words = name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
  return STAND_INS[field] ?? `variable-${words.slice(-MAX_CHARACTERS)}`.replace(/-+$/, '');
}

/**
 * Returns text that makes a URL with a variable valid. A variable at the start is a scheme or starts with one. A variable after a colon is a
 * port.
 */
export function urlStandIn(url: string, placeholder: string, offset: number): string {
  if (offset === 0) return url.startsWith('://', placeholder.length) ? 'https' : 'https://variable.invalid';
  return url[offset - 1] === ':' ? '443' : 'variable';
}

/** True if a text, or any text in an object or list, contains a variable. */
export function containsVariable(value: unknown): boolean {
  if (typeof value === 'string') return [...value.matchAll(PLACEHOLDER)].some(([found]) => found !== '$${');
  return typeof value === 'object' && value !== null && Object.values(value).some(containsVariable);
}

export function escapePlaceholders(text: string): string {
  return text.replaceAll('${', () => '$${');
}

/** Replaces all texts in a value, except keys. */
export function mapTexts(
  value: unknown,
  map: (text: string, path: readonly string[]) => string,
  path: readonly string[] = [],
): unknown {
  if (typeof value === 'string') return map(value, path);
  if (Array.isArray(value)) return value.map((item, index) => mapTexts(item, map, [...path, String(index)]));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, part]) => [key, mapTexts(part, map, [...path, key])]),
  );
}
