/**
 * A URL read by the WHATWG parser, or null where it is none. Instead of `URL.canParse`: once V8 has compiled its callers,
 * Node 20's refuses hosts with a character from U+0080 to U+00FF, such as `café.example`.
 * @param base what a relative URL is relative to
 */
export function parseUrl(text: string, base?: string): URL | null {
  try {
    return new URL(text, base);
  } catch {
    return null;
  }
}
