import * as fc from 'fast-check';

/** What ids of ours name. */
export const KINDS = [
  'monitor',
  'channel',
  'maintenanceWindow',
  'apiKey',
  'invitation',
  'user',
  'delivery',
  'incident',
  'token',
] as const;
export type Kind = (typeof KINDS)[number];

export type Source = 'own' | 'foreign' | 'gone';

const SOURCES: readonly Source[] = [
  'own',
  'own',
  'own',
  'own',
  'own',
  'own',
  'own',
  'own',
  'foreign',
  'gone',
];

/**
 * An id that is only known when it is used: of something that the account has, had, or another account has.
 * In texts: `@own:monitor:3`, counted from the newest and around; with `:upper` in capitals.
 */
export function referenceTo(kind: Kind): fc.Arbitrary<string> {
  return fc
    .tuple(fc.constantFrom(...SOURCES), fc.nat({ max: 5 }))
    .map(([source, index]) => `@${source}:${kind}:${index}`);
}

/** An instant so many hours from when it is used. In texts: `@hours:3`. */
export function hoursFromNow(min: number, max: number): fc.Arbitrary<string> {
  return fc.integer({ min, max }).map((hours) => `@hours:${hours}`);
}

const REFERENCE = /@(own|foreign|gone):(\w+):(\d+)(:upper)?/g;
const INSTANT = /@hours:(-?\d+)/g;

/** Puts ids and instants where references stand. */
export function resolveReferences(
  text: string,
  find: (source: Source, kind: Kind, index: number) => string,
): string {
  return text
    .replaceAll(REFERENCE, (_, source: Source, kind: Kind, index: string, upper?: string) => {
      const id = find(source, kind, Number(index));
      return upper === undefined ? id : id.toUpperCase();
    })
    .replaceAll(INSTANT, (_, hours: string) =>
      new Date(Date.now() + Number(hours) * 3_600_000).toISOString(),
    );
}
