/** What this writer can write: all that a monitor holds. */
export type YamlValue = string | number | readonly string[] | Readonly<Record<string, string | number>>;

const WORD = /^[A-Za-z_/][A-Za-z0-9_./ -]*$/;
const URL_LIKE = /^https?:\/\/[A-Za-z0-9._~:/?=&%+@-]*[A-Za-z0-9_~/?=&%+@-]$/;
const ENVIRONMENT = /^\$\{[A-Z0-9_]+\}$/;
/** Words that some version of YAML reads as something else than text. */
const NOT_TEXT = /^(true|false|yes|no|on|off|y|n|null|nan|inf)$/i;
/** Characters that YAML does not take as they are. */
const UNPRINTABLE =
  /[^\t\n\x20-\x7e\u00a0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\u{10000}-\u{10ffff}]/u;
const ESCAPED_BESIDES_JSON = /[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]/g;

/** `text` so that every reader of YAML 1.1 and 1.2 reads exactly it. @param indent spaces before the lines of a long text */
export function yamlText(text: string, indent = 0): string {
  const plain = WORD.test(text) && !text.endsWith(' ') && !NOT_TEXT.test(text);
  if (plain || URL_LIKE.test(text) || ENVIRONMENT.test(text)) return text;
  if (UNPRINTABLE.test(text) || text.includes('\t')) return doubleQuoted(text);
  if (!text.includes('\n')) return `'${text.replaceAll("'", "''")}'`;
  return block(text, indent) ?? doubleQuoted(text);
}

/** Lines of `key: value`; nested ones are indented by two more. */
export function yamlEntries(entries: readonly (readonly [string, YamlValue])[], indent: number): string[] {
  const margin = ' '.repeat(indent);
  return entries.flatMap(([key, value]) => {
    const head = `${margin}${yamlText(key)}:`;
    if (typeof value === 'string') return [`${head} ${yamlText(value, indent + 2)}`];
    if (typeof value === 'number') return [`${head} ${value}`];
    if (isList(value)) {
      if (value.length === 0) return [`${head} []`];
      return [head, ...value.map((item) => `${margin}  - ${yamlText(item)}`)];
    }
    const inner = Object.entries(value);
    return inner.length === 0 ? [`${head} {}`] : [head, ...yamlEntries(inner, indent + 2)];
  });
}

function doubleQuoted(text: string): string {
  return JSON.stringify(text).replaceAll(
    ESCAPED_BESIDES_JSON,
    (character) => String.raw`\u` + character.charCodeAt(0).toString(16).padStart(4, '0'),
  );
}

/** A literal block; null where the text begins so that its indentation could not be told, or has lines of spaces alone. */
function block(text: string, indent: number): string | null {
  const ending = /\n*$/.exec(text)?.[0].length ?? 0;
  const lines = text.slice(0, text.length - ending).split('\n');
  if (lines[0] === undefined || /^(\s|$)/.test(lines[0]) || lines.some((line) => /^ +$/.test(line)))
    return null;
  if (ending > 1) return null;
  const margin = ' '.repeat(indent);
  const written = lines.map((line) => (line === '' ? '' : `${margin}${line}`));
  return `|${ending === 0 ? '-' : ''}\n${written.join('\n')}`;
}

function isList(value: YamlValue): value is readonly string[] {
  return Array.isArray(value);
}
