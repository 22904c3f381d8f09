/** A part of a description; `href` where it is a link. */
export interface ProsePart {
  readonly text: string;
  readonly isCode: boolean;
  readonly href: string | null;
}

const SPECIAL = /`([^`]+)`|\[([^\]]+)\]\((https:[^)\s]+)\)/g;

/** The parts of a text with a little Markdown, as descriptions of OpenAPI have it: code between backticks, and links. */
export function splitProse(text: string): ProsePart[] {
  const parts: ProsePart[] = [];
  let at = 0;
  for (const { 0: whole, 1: code, 2: link, 3: href = null, index } of text.matchAll(SPECIAL)) {
    if (index > at) parts.push({ text: text.slice(at, index), isCode: false, href: null });
    parts.push({ text: code ?? link ?? '', isCode: code !== undefined, href });
    at = index + whole.length;
  }
  if (at < text.length) parts.push({ text: text.slice(at), isCode: false, href: null });
  return parts;
}
