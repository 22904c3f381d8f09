/** A version as an ETag. */
export function etagOf(version: string): string {
  return `"${version}"`;
}

/**
 * The versions in an `If-Match` header, any of which satisfies it. Null if there is no header, or `*`, which every existing resource
 * satisfies. Weak ETags match too, against RFC 9110, section 13.1.1: proxies that compress make ours weak, and ours identify what is
 * stored, not bytes.
 */
export function versionsOf(ifMatch: string | undefined): ReadonlySet<string> | null {
  if (ifMatch === undefined || ifMatch.trim() === '*') return null;
  return new Set([...ifMatch.matchAll(/(?:^|,)[ \t]*(?:W\/)?"([^"]*)"/g)].map(([, version = '']) => version));
}
