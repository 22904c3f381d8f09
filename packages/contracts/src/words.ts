/**
 * The words of a text in small ASCII letters and digits, such as `shop-front` of "Shop: Frönt"; empty where it has none.
 * @param most characters
 */
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
 * The known word that a mistyped one most likely means, or null: the same letters in another case or with separators
 * (`failure_threshold`), one with a unit (`intervalSeconds`), or at most two letters off (`assertion`).
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

/** How many letters have to be added, dropped or changed (Levenshtein). */
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
 * Names the environment variable that stands for a secret value of a monitor in a file or command. The fixed prefix keeps monitors from
 * choosing the name of another variable, such as `AWS_SECRET_ACCESS_KEY`, whose value would then be sent to their targets.
 * @param words what the value belongs to, such as the monitor and the header
 * @param digits hexadecimal, to distinguish values with the same words. They depend on this value's monitor and field alone, so that no
 * other monitor changes the name.
 */
export function secretVariable(words: string, digits: string): string {
  const name = [asciiWords(words, '_', MAX_CHARACTERS), digits].filter((part) => part !== '').join('_');
  return PREFIX + name.toUpperCase();
}
