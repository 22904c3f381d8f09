/** Converts text to lower-case ASCII words, such as `shop-front` for "Shop: Frönt". May return an empty string. */
export function asciiWords(text: string, between: '-' | '_', most: number): string {
  return text
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, between)
    .slice(0, most)
    .replaceAll(/^[-_]|[-_]$/g, '');
}

/**
 * Finds the known word that a mistyped word most likely means, or null. Tolerates a different case or separator (`failure_threshold`),
 * an added unit (`intervalSeconds`), and at most two wrong letters (`assertion`).
 */
export function nearestWord(given: string, known: readonly string[]): string | null {
  const letters = plain(given);
  if (letters.length < 2 || letters.length > 64) return null;
  const same = known.find((word) => plain(word) === letters);
  if (same !== undefined) return same;
  const longer = known.find((word) => word.length > 3 && letters.startsWith(plain(word)));
  const [nearest] = known
    .map((word) => ({ word, distance: editDistance(letters, plain(word)) }))
    .filter(({ word, distance }) => distance <= Math.min(2, Math.floor(word.length / 2)))
    .toSorted((one, other) => one.distance - other.distance);
  return nearest?.word ?? longer ?? null;
}

function plain(word: string): string {
  return word.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
}

/** Levenshtein distance. */
function editDistance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let index = 0; index < one.length; index += 1) {
    const next = [index + 1];
    for (let column = 0; column < other.length; column += 1) {
      const changed = (row[column] ?? 0) + (one[index] === other[column] ? 0 : 1);
      next.push(Math.min(changed, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

const PREFIX = 'TOCSIN_SECRET_';
const MAX_CHARACTERS = 200;

/**
 * Names the environment variable for a secret value of a monitor in a file. The fixed prefix prevents monitors from reading other variables,
 * such as `AWS_SECRET_ACCESS_KEY`, and sending them to their targets.
 * @param words owner of the value, such as monitor and header
 * @param digits hexadecimal digits that distinguish values with the same words, and depend only on the monitor and the field
 */
export function secretVariable(words: string, digits: string): string {
  const name = [asciiWords(words, '_', MAX_CHARACTERS), digits].filter((part) => part !== '').join('_');
  return PREFIX + name.toUpperCase();
}
