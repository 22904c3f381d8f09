import { setTimeout as wait } from 'node:timers/promises';
import { Problem } from './desired/problem.ts';
import type { Cluster } from './kubernetes/cluster.ts';
import type { Reconciler } from './sync/reconciler.ts';
import { idKey, type SetWriter } from './sync/set-writer.ts';
import { TocsinError } from './sync/tocsin-client.ts';

const POLL_MS = 100;
const LIST_WITHIN_MS = 60_000;
/** Exit code of `tocsin diff` if something differs. */
const EXIT_DIFFERENT = 2;

/** Prints what the operator would do, without writing anything. @returns the exit code */
export async function dryRun(
  cluster: Cluster,
  reconciler: Reconciler,
  writer: SetWriter,
  print: (line: string) => void,
): Promise<number> {
  const { signal } = new AbortController();
  const deadline = performance.now() + LIST_WITHIN_MS;
  while (cluster.missing.length > 0) {
    if (performance.now() > deadline)
      throw new Error(`The cluster cannot be read: ${cluster.missing.join(', ')}`);
    await wait(POLL_MS);
  }
  const namespaces = new Set([...cluster.namespaces(), ...(await reconciler.namespacesInTocsin(signal))]);
  let isDifferent = false;
  for (const namespace of [...namespaces].toSorted()) {
    if (!cluster.isReadable(namespace)) continue;
    const { items } = await reconciler.desired(namespace, signal);
    for (const isRetained of [true, false]) {
      const own = items.filter((item) => item.isRetained === isRetained);
      if (isRetained && own.length === 0) continue;
      const valid = own.filter(({ entry }) => !(entry instanceof Problem));
      const lines = own.flatMap(({ owner, entry }) =>
        entry instanceof Problem ? [`  ! ${owner.kind} ${owner.metadata.name}: ${entry.message}`] : [],
      );
      try {
        const { created, updated, unlisted, channels } = await writer.plan(
          reconciler.sourceOf(namespace, isRetained),
          valid,
          signal,
        );
        const urls = new Map(valid.map(({ externalId, url }) => [externalId, url]));
        const kept = new Set(items.map(idKey));
        for (const [field, plan] of [
          ['monitors', { created, updated, unlisted }],
          ['channels', channels],
        ] as const) {
          const noun = field.slice(0, -1);
          const deleted = isRetained
            ? []
            : (plan?.unlisted ?? []).filter(
                ({ externalId }) => externalId === null || !kept.has(idKey({ field, externalId })),
              );
          lines.push(
            ...(plan?.created ?? []).map(({ externalId }) =>
              `  + ${noun} ${externalId} ${urls.get(externalId) ?? ''}`.trimEnd(),
            ),
            ...(plan?.updated ?? []).map(
              ({ externalId, fields }) => `  ~ ${noun} ${externalId} ${fields.join(', ')}`,
            ),
            ...deleted.map(({ id, externalId }) => `  - ${noun} ${externalId ?? id}`),
          );
        }
      } catch (error) {
        if (!(error instanceof TocsinError)) throw error;
        const details = error.errors.map(({ path, message }) => `${path}: ${message}`);
        lines.push(...[error.message, ...details].map((line) => `  ! ${line}`));
      }
      if (lines.length === 0) continue;
      isDifferent = true;
      print([reconciler.sourceOf(namespace, isRetained), ...lines].join('\n'));
    }
  }
  if (!isDifferent) print('Nothing to change.');
  return isDifferent ? EXIT_DIFFERENT : 0;
}
