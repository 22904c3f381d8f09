import { type Labels, labelTexts } from '@tocsin/contracts/labels/labels';
import { formatCount, formatNumber, listNames } from '../../../components/format.ts';

export interface LabelEdit {
  readonly set: Labels;
  /** Keys. */
  readonly remove: readonly string[];
}

interface Labeled {
  readonly id: string;
  readonly labels: Labels;
}

function edited(labels: Labels, { set, remove }: LabelEdit): Labels {
  const kept = Object.entries(labels).filter(([key]) => !remove.includes(key));
  return { ...Object.fromEntries(kept), ...set };
}

/** Formats as `Changes 2 of 3 monitors. Replaces or removes team=a (2) and tier=web (1).` */
export function describeEdit(monitors: readonly Labeled[], edit: LabelEdit): string {
  const lost = new Map<string, number>();
  let changed = 0;
  for (const { labels } of monitors) {
    const [before, after] = [labelTexts(labels), labelTexts(edited(labels, edit))];
    if (before.join() !== after.join()) changed += 1;
    for (const text of before) if (!after.includes(text)) lost.set(text, (lost.get(text) ?? 0) + 1);
  }
  const losses = [...lost].map(([text, count]) => `${text} (${formatNumber(count)})`);
  const summary = `Changes ${formatNumber(changed)} of ${formatCount(monitors.length, 'monitor')}.`;
  return losses.length === 0 ? summary : `${summary} Replaces or removes ${listNames(losses)}.`;
}

/** Returns edits that restore the labels. Monitors that need the same edit share it. @param monitors as before the edit */
export function undoEdits(
  monitors: readonly Labeled[],
  edit: LabelEdit,
): { monitorIds: string[]; set: Record<string, string>; remove: string[] }[] {
  const keys = [...new Set([...Object.keys(edit.set), ...edit.remove])];
  const undos = new Map<string, ReturnType<typeof undoEdits>[number]>();
  for (const { id, labels } of monitors) {
    const remove = keys.filter((key) => !Object.hasOwn(labels, key));
    const set = Object.fromEntries(Object.entries(labels).filter(([key]) => keys.includes(key)));
    const same = labelTexts(set).join();
    const undo = undos.get(same) ?? { monitorIds: [], set, remove };
    undo.monitorIds.push(id);
    undos.set(same, undo);
  }
  return [...undos.values()];
}
