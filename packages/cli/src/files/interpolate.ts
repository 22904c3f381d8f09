type Env = Readonly<Record<string, string | undefined>>;

const PLACEHOLDER = /\$\$\{|\$\{([^}]*)\}|\$\{/g;
const VARIABLE = /^([A-Za-z_]\w*)(?::-(.*))?$/s;

/** What was wrong with a placeholder of a text. */
export type OnFault = (message: string) => void;

/**
 * Puts variables of the environment in the place of `${NAME}`, and of `${NAME:-default}` where it is not set or empty; `$${` is a
 * `${` as it stands. What stands in a variable is never read as YAML.
 */
export function interpolate(text: string, env: Env, onFault: OnFault): string {
  return text.replaceAll(PLACEHOLDER, (placeholder: string, inner: string | undefined) => {
    if (placeholder === '$${') return '${';
    const [, name, fallback] = VARIABLE.exec(inner ?? '') ?? [];
    if (name === undefined) {
      onFault(`${placeholder} names no variable: write $${placeholder} for this text itself`);
      return '';
    }
    // It would end at the first brace, and what is left of it would be sent as it stands.
    if (fallback?.includes('${') === true) {
      onFault(`the default of ${name} holds another variable, which is not read`);
      return '';
    }
    const value = env[name];
    if (value !== undefined && value !== '') return value;
    if (fallback === undefined) {
      const what = value === undefined ? 'is not set' : 'is empty';
      onFault(
        `the environment variable ${name} ${what} (\${${name}:-…} gives a default, $\${ a literal \${)`,
      );
    }
    return fallback ?? '';
  });
}

/** Whether something comes from the environment: in a text, or in any text of an object or list. */
export function holdsVariable(value: unknown): boolean {
  if (typeof value === 'string') return [...value.matchAll(PLACEHOLDER)].some(([found]) => found !== '$${');
  return typeof value === 'object' && value !== null && Object.values(value).some(holdsVariable);
}

/** `text` as it must be written so that it is read as itself. */
export function escapePlaceholders(text: string): string {
  return text.replaceAll('${', () => '$${');
}
