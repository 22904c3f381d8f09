import { AppError } from '@tocsin/contracts/errors';
import { LIMITS } from '@tocsin/contracts/limits';

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [BRACKET, CLOSING_BRACKET, BRACE, CLOSING_BRACE] = [0x5b, 0x5d, 0x7b, 0x7d];

interface Level {
  /** Keys seen so far, or null for an array. */
  readonly keys: Set<string> | null;
  /** The current key, or an array's current index. */
  position: string | number;
  expectsKey: boolean;
}

/**
 * Parses a JSON object. Refuses duplicate keys and `__proto__`, whose values would be lost.
 * @throws AppError malformed_body, body_too_large
 */
export function parseJsonObject(text: string): Record<string, unknown> {
  requireFewValues(text);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const reason = error instanceof SyntaxError ? withoutText(error.message) : 'it cannot be parsed';
    throw new AppError('malformed_body', `The body is not valid JSON: ${reason}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new AppError('malformed_body', 'The body must be a JSON object, such as {"name": "…"}.');
  const refused = findRefusedKey(text);
  if (refused !== null) {
    throw new AppError('malformed_body', `The key "${refused.path}" ${refused.message}.`, {
      errors: [refused],
    });
  }
  return { ...value };
}

/** Counts the values of a large text before parsing, because 32 MiB of brackets would become gigabytes of objects. */
function requireFewValues(text: string): void {
  if (text.length <= LIMITS.bodyValues) return;
  let values = 0;
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charCodeAt(at);
    if (character === QUOTE) at = endOfString(text, at);
    else if (character === COMMA || character === BRACKET || character === BRACE) values += 1;
  }
  if (values <= LIMITS.bodyValues) return;
  throw new AppError('body_too_large', `The body must contain at most ${LIMITS.bodyValues} values.`);
}

/** V8 quotes the text around an error, which may be a secret. */
function withoutText(message: string): string {
  return message
    .replace(/, (\.\.\.)?".*"(\.\.\.)? is not valid JSON$/s, '')
    .replace(/^"[^]*" is not/, 'it is not');
}

/** Finds the first refused key of a valid JSON text. A regular expression would overflow the stack after a few million escapes. */
function findRefusedKey(text: string): { path: string; message: string } | null {
  const levels: Level[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charCodeAt(at);
    if (character === QUOTE) {
      const start = at;
      at = endOfString(text, start);
      const level = levels.at(-1);
      if (!level?.keys || !level.expectsKey) continue;
      const key = String(JSON.parse(text.slice(start, at + 1)));
      level.position = key;
      level.expectsKey = false;
      if (key === '__proto__') return { path: pathOf(levels), message: 'is not a known field' };
      if (level.keys.has(key)) return { path: pathOf(levels), message: 'is given twice' };
      level.keys.add(key);
    } else if (character === COMMA) advance(levels.at(-1));
    else if (character === BRACE) levels.push({ keys: new Set(), position: '', expectsKey: true });
    else if (character === BRACKET) levels.push({ keys: null, position: 0, expectsKey: false });
    else if (character === CLOSING_BRACE || character === CLOSING_BRACKET) levels.pop();
  }
  return null;
}

/** Index of the closing quote of the string at `start`, or beyond the text. */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text.charCodeAt(at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1;
  return at;
}

/** Built only for errors, because it would take minutes for every key of a deeply nested body. */
function pathOf(levels: readonly Level[]): string {
  return levels.map(({ position }) => position).join('.');
}

function advance(level: Level | undefined): void {
  if (level === undefined) return;
  if (typeof level.position === 'number') level.position += 1;
  else level.expectsKey = true;
}
