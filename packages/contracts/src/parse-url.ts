/**
 * Parses a URL. Returns null if it is invalid. Does not use `URL.canParse`, because in Node 20 it rejects valid hosts such as `café.example`
 * once V8 has compiled its caller.
 * @param base base of a relative URL
 */
export function parseUrl(text: string, base?: string): URL | null {
  try {
    return new URL(text, base);
  } catch {
    return null;
  }
}
