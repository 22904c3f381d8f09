/**
 * What comes from others, such as names of monitors: without what a terminal obeys. Control characters move the cursor or hide what stands
 * there, others turn the direction of the line, and a new line could look like one of ours.
 */
export function plain(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu, '�');
}

/** JSON to print. It escapes most control characters by itself, but not all that terminals obey. */
export function jsonText(value: unknown, space?: number): string {
  return JSON.stringify(value, null, space).replaceAll(
    /[\u007f-\u009f\p{Bidi_Control}\u2028\u2029]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
