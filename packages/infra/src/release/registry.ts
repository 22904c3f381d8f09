/**
 * Whether a registry is on this machine. Docker uses such a registry without TLS, and stand-ins of base images may be pushed there.
 * @param registry as in IMAGE_REGISTRY
 */
export function isLoopback(registry: string): boolean {
  const [host = ''] = registry.split(/[:/]/);
  return host === 'localhost' || /^127(\.\d{1,3}){3}$/.test(host);
}

/** The digest that `docker push` or `helm push` printed. @throws Error if it printed none */
export function readDigest(output: string): string {
  const [, digest] = /\bdigest: (sha256:[0-9a-f]{64})\b/i.exec(output) ?? [];
  if (digest === undefined) throw new Error(`The push printed no digest:\n${output}`);
  return digest;
}
