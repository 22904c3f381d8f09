/** As long as the lookups are many that a replica made of names that never resolve (`fake-resolver.ts`). */
export function hungFile(dnsDownFile: string, address: string): string {
  return `${dnsDownFile}.hung-${address}`;
}
