import { randomUUID } from 'node:crypto';
import { KINDS, type Kind } from '../values/references.ts';

/** What is known of a thing: its fields as the api last told them, or null where they are not followed. */
export type Known = Readonly<Record<string, unknown>> | null;

/** What an account holds, as far as the answers to requests tell: the model that the api is compared with. */
export class Pools {
  readonly secrets = new Set<string>();
  readonly #things = new Map<Kind, Map<string, Known>>(KINDS.map((kind) => [kind, new Map()]));
  readonly #gone = new Map<Kind, string[]>(KINDS.map((kind) => [kind, []]));

  add(kind: Kind, id: string, known: Known): void {
    this.#of(kind).set(id, known);
  }

  remove(kind: Kind, id: string): void {
    if (this.#of(kind).delete(id)) this.#gone.get(kind)?.push(id);
  }

  has(kind: Kind, id: string): boolean {
    return this.#of(kind).has(id);
  }

  known(kind: Kind, id: string): Known {
    return this.#of(kind).get(id) ?? null;
  }

  /** Newest last. */
  ids(kind: Kind): string[] {
    return [...this.#of(kind).keys()];
  }

  /** One of them, counted from the newest and around; an id of nothing where there is none. */
  pick(kind: Kind, index: number): string {
    const ids = this.ids(kind);
    return ids.at(-1 - (index % Math.max(ids.length, 1))) ?? randomUUID();
  }

  pickGone(kind: Kind, index: number): string {
    const ids = this.#gone.get(kind) ?? [];
    return ids.at(-1 - (index % Math.max(ids.length, 1))) ?? randomUUID();
  }

  clear(): void {
    for (const things of this.#things.values()) things.clear();
    for (const ids of this.#gone.values()) ids.length = 0;
    this.secrets.clear();
  }

  #of(kind: Kind): Map<string, Known> {
    const things = this.#things.get(kind);
    if (things === undefined) throw new Error(`no such kind: ${kind}`);
    return things;
  }
}
