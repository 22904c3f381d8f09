import { setTimeout as wait } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { createSilentLogger } from '@tocsin/runtime/logger';
import { KubernetesError } from './client.ts';
import { Informer } from './informer.ts';

const monitor = (name: string, resourceVersion: string, url = 'https://a.example.com') => ({
  metadata: {
    name,
    namespace: 'shop',
    uid: name,
    resourceVersion,
    creationTimestamp: '2026-01-01T00:00:00Z',
  },
  spec: { url },
});

type Watch = (onEvent: (type: string, object: unknown) => void) => void | Promise<void>;

/** Follows an API server with these pages and watches, and returns what it saw when both are used up. */
async function follow(pages: readonly unknown[], watches: readonly Watch[]) {
  const [nextPages, nextWatches] = [[...pages], [...watches]];
  const stopped = new AbortController();
  const requests: string[] = [];
  const changes: string[] = [];
  const informer = new Informer({
    client: {
      request: async <Result>({ path }: { readonly path: string }) => {
        const query = new URLSearchParams(path.split('?')[1]);
        requests.push(`list ${query.get('continue') ?? ''}`.trim());
        const page = nextPages.shift();
        if (page instanceof Error) throw page;
        return page as Result;
      },
      watch: async (_path, version, onEvent, signal) => {
        requests.push(`watch ${version}`);
        const next = nextWatches.shift();
        if (next !== undefined) return next(onEvent);
        stopped.abort();
        await wait(0, undefined, { signal }).catch(() => undefined);
      },
    },
    kind: 'Monitor',
    namespace: null,
    onChange: ({ metadata }) => changes.push(metadata.name),
    onSynced: () => changes.push('synced'),
    logger: createSilentLogger(),
  });
  await informer.run(stopped.signal);
  return { informer, requests, changes };
}

const page = (version: string, items: readonly object[], next = '') => ({
  metadata: { resourceVersion: version, continue: next },
  items,
});

test('a watch continues after bookmarks, and the objects are listed again when its history is gone', async () => {
  const gone: Watch = () => {
    throw new KubernetesError(410, 'too old resource version');
  };
  const events: Watch = (onEvent) => {
    onEvent('MODIFIED', monitor('a', '12', 'https://b.example.com'));
    onEvent('BOOKMARK', { metadata: { resourceVersion: '20' } });
  };
  const { informer, requests, changes } = await follow(
    [
      page('10', [monitor('a', '1')], 'p2'),
      page('10', [monitor('b', '2')]),
      page('30', [monitor('a', '12')]),
    ],
    [events, gone],
  );
  expect(requests).toEqual(['list', 'list p2', 'watch 10', 'watch 20', 'list', 'watch 30']);
  expect(changes).toEqual(['a', 'b', 'synced', 'a', 'a', 'b']);
  expect([informer.size, informer.get('shop', 'b')]).toEqual([1, undefined]);
});

test('a list that fails halfway deletes nothing, and an old event does not replace a newer object', async () => {
  const expired = new KubernetesError(410, 'the continue token has expired');
  const { informer, requests } = await follow(
    [page('9', [], 'p2'), expired, page('10', [monitor('a', '5')])],
    [(onEvent) => onEvent('MODIFIED', monitor('a', '4', 'https://old.example.com'))],
  );
  expect(requests).toEqual(['list', 'list p2', 'list', 'watch 10', 'watch 4']);
  expect(informer.get('shop', 'a')?.spec.url).toBe('https://a.example.com');
});
