type Env = Readonly<Record<string, string | undefined>>;

const PLACEHOLDER = /\$\$\{|\$\{([^}]*)\}|\$\{/g;
const VARIABLE = /^([A-Za-z_]\w*)(?::-(.*))?$/s;

/**
 * Replaces `${NAME}` with the environment variable, and `${NAME:-default}` with the default if the variable is unset or empty. `$${` is an
 * escaped `${`. The value of a variable is never parsed as YAML.
 */
export function interpolate(text: string, env: Env, onError: (message: string) => void): string {
  return text.replaceAll(PLACEHOLDER, (placeholder: string, inner: string | undefined) => {
    if (placeholder === '$${') return '${';
    const [, name, fallback] = VARIABLE.exec(inner ?? '') ?? [];
    if (name === undefined) {
      onError(`${placeholder} is not a variable; write $${placeholder} for this literal text`);
      return '';
    }
    // The default would end at the first brace, and the rest would be sent as text.
    if (fallback?.includes('${') === true) {
      onError(`the default of ${name} contains another variable, which is not supported`);
      return '';
    }
    const value = env[name];
    if (value !== undefined && value !== '') return value;
    if (fallback === undefined) {
      const state = value === undefined ? 'is not set' : 'is empty';
      onError(
        `the environment variable ${name} ${state}; \${${name}:-text} sets a default, $\${ is a literal \${`,
      );
    }
    return fallback ?? '';
  });
}

/** Whether a text, or any text in an object or list, contains a variable. */
export function containsVariable(value: unknown): boolean {
  if (typeof value === 'string') return [...value.matchAll(PLACEHOLDER)].some(([found]) => found !== '$${');
  return typeof value === 'object' && value !== null && Object.values(value).some(containsVariable);
}

export function escapePlaceholders(text: string): string {
  return text.replaceAll('${', () => '$${');
}

/** Replaces every text of a value, except keys. The path of each text is passed along. */
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
