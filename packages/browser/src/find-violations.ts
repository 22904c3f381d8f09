import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { AxeResults, RunOptions } from 'axe-core';
import type { Page } from 'playwright-core';

const SCRIPT = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
/** WCAG 2.1, A and AA. */
const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'];

interface WithAxe {
  readonly axe: { run(context: Document, options: RunOptions): Promise<AxeResults> };
}

/**
 * What on the page, as it is now, breaks WCAG 2.1 AA; in words.
 * @param only of these rules alone
 */
export async function findViolations(page: Page, only?: readonly string[]): Promise<string[]> {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(await readFile(SCRIPT, 'utf8'));
  const options: RunOptions = {
    runOnly: only ? { type: 'rule', values: [...only] } : { type: 'tag', values: TAGS },
    resultTypes: ['violations'],
  };
  const { violations } = await page.evaluate(
    (given) => (globalThis as unknown as WithAxe).axe.run(document, given),
    options,
  );
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ target, html, failureSummary }) =>
      [`${id}: ${help}`, target.join(' '), html.slice(0, 200), failureSummary ?? ''].join('\n  '),
    ),
  );
}
