const MOST_CHARACTERS = 500;

/**
 * Text of a target for a sentence about it, or only its length: longer text would be cut, which may leave half a secret that
 * is hidden only as a whole, and takes long to search.
 */
export function quoteForeign(text: string): string {
  return text.length > MOST_CHARACTERS ? `a text of ${text.length} characters` : `"${text}"`;
}
