/**
 * Gatus puts variables of the environment in the place of `$NAME` and `${NAME}`, and has `$$` for a `$`. @returns the text as a
 * `tocsin.yaml` has it, where `${NAME}` alone is a variable, and `$${` a `${` as it stands
 */
function fromGatusText(text: string): string {
  return text.replaceAll(
    /\$\$(\{)?|\$\{([A-Za-z_]\w*)\}|\$([A-Za-z_]\w*)|\$\{/g,
    (found: string, brace: string | undefined, braced: string | undefined, bare: string | undefined) => {
      if (found.startsWith('$$')) return brace === undefined ? '$' : '$${';
      const name = braced ?? bare;
      return name === undefined ? '$${' : `\${${name}}`;
    },
  );
}

/** The same of every text of a value. */
export function fromGatusTexts(value: unknown): unknown {
  if (typeof value === 'string') return fromGatusText(value);
  if (Array.isArray(value)) return value.map(fromGatusTexts);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, fromGatusTexts(part)]));
}

/**
 * A URL of a `tocsin.yaml` as it may be once its variables are set, to be judged: one at the start is a scheme or begins with one, one
 * after a colon is a port.
 */
export function withStandIns(url: string): string {
  return url.replaceAll(/\$\$\{|\$\{\w+\}/g, (found: string, offset: number) => {
    if (found === '$${') return found;
    if (offset === 0) return url.startsWith('://', found.length) ? 'https' : 'https://variable.invalid';
    return url[offset - 1] === ':' ? '443' : 'variable';
  });
}
