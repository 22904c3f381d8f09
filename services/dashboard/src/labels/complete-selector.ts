import { type Labels, labelTexts } from '@tocsin/contracts/labels/labels';

const MAX_COMPLETIONS = 50;

/** Completes the last condition of a selector with the keys and values of labels. @returns whole selectors */
export function completeSelector(
  text: string,
  monitors: readonly { readonly labels: Labels }[],
): readonly string[] {
  const [, before = '', condition = ''] = /^(.*,\s*)?(.*)$/.exec(text) ?? [];
  // Inside parentheses, a value alone does not make the selector complete.
  if (before.split('(').length > before.split(')').length) return [];
  const words = new Set<string>();
  for (const { labels } of monitors)
    for (const word of [...Object.keys(labels), ...labelTexts(labels)]) words.add(word);
  return [...words]
    .filter((word) => word.startsWith(condition) && word !== condition)
    .sort()
    .slice(0, MAX_COMPLETIONS)
    .map((word) => `${before}${word}`);
}
