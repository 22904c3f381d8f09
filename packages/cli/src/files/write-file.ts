import { createMonitorSchema } from '@tocsin/contracts/monitors/monitor';
import { asciiWords } from '@tocsin/contracts/words';
import { Document } from 'yaml';

/** A monitor to be written: fields by their names in the order of the documentation, texts as they are to stand in the file. */
export type WrittenMonitor = Readonly<Record<string, unknown>> & { readonly externalId: string };

/** The text of a `tocsin.yaml`. */
export function fileText(source: string, monitors: readonly WrittenMonitor[]): string {
  return new Document({ source, monitors }).toString({ lineWidth: 0, singleQuote: true });
}

const DEFAULTS: Readonly<Record<string, unknown>> = createMonitorSchema.parse({
  name: '-',
  url: 'https://example.com',
});

/** Those fields that are not as they would be without being named, the key first. */
export function ownFields(
  externalId: string,
  fields: Readonly<Record<string, unknown>>,
): Record<string, unknown> & { externalId: string } {
  const named = Object.keys(createMonitorSchema.shape).filter(
    (field) =>
      field !== 'externalId' &&
      field !== 'source' &&
      fields[field] !== undefined &&
      JSON.stringify(fields[field]) !== JSON.stringify(DEFAULTS[field]),
  );
  return { externalId, ...Object.fromEntries(named.map((field) => [field, fields[field]])) };
}

const MOST_CHARACTERS = 100;

/** A key made of a name that no other of `taken` is; it is added to them. */
export function keyFor(name: string, taken: Set<string>): string {
  const words = asciiWords(name, '-', MOST_CHARACTERS) || 'monitor';
  let key = words;
  for (let count = 2; taken.has(key); count += 1) key = `${words}-${count}`;
  taken.add(key);
  return key;
}
