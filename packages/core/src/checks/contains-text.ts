/** V8 searches for texts up to this length in linear time. Longer ones may take time proportional to the product of both lengths. */
const SAFE_CHARACTERS = 250;

/** Searches in linear time (Knuth-Morris-Pratt), because a body that nearly matches everywhere must not block the process. */
export function containsText(text: string, wanted: string): boolean {
  if (wanted.length <= SAFE_CHARACTERS) return text.includes(wanted);
  const start = text.indexOf(wanted.slice(0, SAFE_CHARACTERS));
  return start >= 0 && search(text, wanted, start);
}

function search(text: string, wanted: string, start: number): boolean {
  const borders = bordersOf(wanted);
  let matched = 0;
  for (let at = start; at < text.length; at += 1) {
    matched = extend(wanted, borders, matched, text.charCodeAt(at));
    if (matched === wanted.length) return true;
  }
  return false;
}

/** Length of the longest proper prefix that is also a suffix, for each prefix of the text. */
function bordersOf(text: string): Int32Array {
  const borders = new Int32Array(text.length);
  let border = 0;
  for (let at = 1; at < text.length; at += 1) {
    border = extend(text, borders, border, text.charCodeAt(at));
    borders[at] = border;
  }
  return borders;
}

function extend(wanted: string, borders: Int32Array, matched: number, character: number): number {
  let length = matched;
  while (length > 0 && wanted.charCodeAt(length) !== character) length = borders[length - 1] ?? 0;
  return wanted.charCodeAt(length) === character ? length + 1 : 0;
}
