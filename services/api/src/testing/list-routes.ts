import { createMetrics } from '@tocsin/runtime/metrics';
import { Router } from 'express';
import { createApp } from '../app.ts';
import type { ApiContext } from '../context.ts';

interface Layer {
  readonly route?: { readonly path: string; readonly methods: Readonly<Record<string, boolean>> };
  readonly handle: { readonly stack?: readonly Layer[] };
}

/** Every route of the api as `GET /api/cli/monitors/:id`, read from the routers themselves. */
export function listRoutes(context: ApiContext): string[] {
  const prototype = Router.prototype as { use: (...args: unknown[]) => unknown };
  const { use } = prototype;
  const mounts = new Map<unknown, string>();
  // Express keeps no mount path: it is noted while the routers are put together.
  prototype.use = function noteMount(...args) {
    const [path, ...handlers] = args;
    if (typeof path === 'string') for (const handler of handlers) mounts.set(handler, path);
    return use.apply(this, args);
  };
  try {
    const app = createApp({ ...context, metrics: createMetrics() });
    return routesOf((app.router as unknown as { stack: readonly Layer[] }).stack, '', mounts);
  } finally {
    prototype.use = use;
  }
}

function routesOf(stack: readonly Layer[], base: string, mounts: ReadonlyMap<unknown, string>): string[] {
  return stack.flatMap(({ route, handle }) => {
    if (route !== undefined) {
      const path = route.path === '/' ? base : base + route.path;
      const methods = Object.keys(route.methods).filter((method) => method !== '_all');
      return methods.map((method) => `${method.toUpperCase()} ${path}`);
    }
    const mount = mounts.get(handle) ?? '';
    return handle.stack === undefined
      ? []
      : routesOf(handle.stack, mount === '/' ? base : base + mount, mounts);
  });
}
