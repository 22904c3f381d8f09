/** Planned checks that a checker says were missed, by reason: those of the process that answers at this port. */
export async function readMisses(port: number): Promise<Map<string, number>> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const lines = text.matchAll(/^tocsin_checks_missed_total\{.*reason="(\w+)"\} (\d+)$/gm);
  return new Map([...lines].map(([, reason = '', count]) => [reason, Number(count)]));
}
