import type { BrowserContext } from 'playwright-core';

/** What is noted in a page while it is measured. */
interface Probes {
  /** When the first row of the list was there and the page free to react; milliseconds after navigation, 0 before. */
  firstRowAt: number;
  /** Checks that the live stream brought. */
  records: number;
  /** Tasks of the page's thread above 50 ms, in milliseconds. */
  longTasks: number[];
}

export interface WithProbes {
  readonly probes: Probes;
}

/** Puts the probes into every page of the context, before anything of its own runs. */
export async function installProbes(context: BrowserContext): Promise<void> {
  await context.addInitScript(() => {
    const probes: Probes = { firstRowAt: 0, records: 0, longTasks: [] };
    Object.assign(globalThis, { probes });
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) probes.longTasks.push(duration);
    }).observe({ type: 'longtask', buffered: true });

    const rows = new MutationObserver(() => {
      if (document.querySelector('tbody tr[aria-rowindex] a') === null) return;
      rows.disconnect();
      // Painted, and the thread has come to something else.
      requestAnimationFrame(() => setTimeout(() => (probes.firstRowAt = performance.now())));
    });
    rows.observe(document, { childList: true, subtree: true });

    globalThis.EventSource = class extends EventSource {
      constructor(...args: ConstructorParameters<typeof EventSource>) {
        super(...args);
        this.addEventListener('check', () => (probes.records += 1));
      }
    };
  });
}
