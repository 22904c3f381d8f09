/**
 * Parses a URL; null if it is invalid. In Node 20, `URL.canParse` refuses valid hosts such as `café.example` once V8 has compiled its
 * caller.
 * @param base what a relative URL is relative to
 */
export function parseUrl(text: string, base?: string): URL | null {
  try {
    return new URL(text, base);
  } catch {
    return null;
  }
}
