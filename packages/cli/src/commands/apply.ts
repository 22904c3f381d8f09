import { isSourceAllowed } from '@tocsin/contracts/labels/sources';
import type { ChannelSetResult } from '@tocsin/contracts/monitor-sets/monitor-set';
import { includesFolder } from '../files/find-files.ts';
import { loadSets, type FileSet } from '../files/load-sets.ts';
import type { ApiClient } from '../http/api-client.ts';
import { CliError, EXIT, type ExitCode } from '../terminal/cli-error.ts';
import { requireConfirmation, withProgress, type Terminal } from '../terminal/terminal.ts';
import { plain } from '../terminal/text.ts';
import { countSources, noteUnlistedSources, type SourceCounts, warnAboutRegions } from './account-checks.ts';
import { applyPlan, deletedIds, type Plan, sendSet, type Target } from './apply-plan.ts';
import { type Before, planJson } from './plan-changes.ts';
import { planText, resultText, secretsText } from './plan-text.ts';

export interface ApplyFlags {
  readonly file?: readonly string[];
  readonly source?: string;
  readonly prune?: boolean;
  /** Source names, or prefixes that end with `*`. Matching sources that are in no file are deleted. */
  readonly pruneSources?: readonly string[];
  /** Maximum number of monitors and channels to delete. */
  readonly maxDelete?: number;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

type Api = Pick<ApiClient, 'putSet' | 'listMonitors' | 'listChannels' | 'listRegions'>;

/**
 * Makes the monitors and channels match the files. Shows the plan, asks for confirmation and applies it. Each source is one request,
 * which the API applies completely or not at all.
 * @returns `negative` if a dry run finds differences
 */
export async function apply(api: Api, terminal: Terminal, flags: ApplyFlags): Promise<ExitCode> {
  const { dryRun = false, yes = false, json = false, maxDelete = Infinity } = flags;
  const { note, print } = terminal;
  if (!dryRun) requireConfirmation(terminal, yes);
  const { targets, unlisted } = await findTargets(api, terminal, flags);
  const plans: Plan[] = [];
  await forEachSet(terminal, 'Comparing', targets, async (set) => {
    plans.push({ ...set, ...(await sendSet(api, set, true, null)) });
  });
  const before = await readBefore(api, plans);
  const asks = !yes && !dryRun;
  const [show, colors] = json ? [note, terminal.noteColors] : [print, terminal.colors];
  if (asks || !json) for (const plan of plans) show(planText(plan, before, colors));
  if (!json && flags.pruneSources === undefined) noteUnlistedSources(unlisted ?? [], terminal);
  const regions = targets.flatMap(({ monitors }) => monitors.flatMap(({ fields }) => fields.regions ?? []));
  const newRegions = await warnAboutRegions(api, regions, terminal);
  const changes = plans.some(({ result }) => result.changed);
  const deletions = plans.flatMap(({ result }) => deletedIds(result)).length;
  const isRefused = deletions > maxDelete;
  const applies = changes && !dryRun && !isRefused;
  if (!applies)
    for (const code of newRegions)
      note(`Warning: no monitor uses region ${plain(code)} yet. Make sure that a checker serves it.`);
  try {
    if (isRefused)
      throw new CliError(
        `The plan deletes ${deletions} monitors and channels, more than --max-delete ${maxDelete}. Nothing was changed.`,
        { code: 'deletion_refused' },
      );
    if (!applies) return changes ? EXIT.negative : EXIT.ok;
    if (asks && !(await terminal.confirm('Apply these changes?'))) {
      note('Nothing was changed.');
      return EXIT.failed;
    }
    await applyPlans(api, terminal, plans, flags);
  } finally {
    if (json) {
      // Plans that were not applied keep the result of their dry run. Sets without changes count as applied.
      const sets = Array.from(plans, (plan) => ({
        ...planJson(plan, before),
        dryRun: dryRun || isRefused || (plan.result.dryRun && plan.result.changed),
      }));
      terminal.printJson({ sets, ...(unlisted !== null && { unlistedSources: unlisted }) }, 2);
    }
  }
  await warnAboutRegions(api, newRegions, terminal);
  return EXIT.ok;
}

/** Sets in the files, and an empty set for each source to prune. `unlisted` is null if it was not determined. */
async function findTargets(
  api: Api,
  terminal: Terminal,
  { file = [], source, prune = false, pruneSources }: ApplyFlags,
): Promise<{ targets: Target[]; unlisted: SourceCounts[] | null }> {
  const sets = await loadSets(file, source, terminal);
  const targets = sets.map((set): Target => ({ ...set, prune, isUnlisted: false }));
  // A single file rarely describes the whole account.
  if (pruneSources === undefined && !(await includesFolder(file, terminal.cwd)))
    return { targets, unlisted: null };
  const listed = new Set(sets.map((set) => set.source));
  const all = countSources(await api.listMonitors(), await api.listChannels());
  const unlisted = all.filter((one) => !listed.has(one.source));
  if (pruneSources === undefined) return { targets, unlisted };
  const pruned = unlisted.filter((one) => isSourceAllowed(pruneSources, one.source));
  const empty = { monitors: [], channels: [], prune: true, isUnlisted: true };
  const added = pruned.map((one): Target => ({ source: one.source, ...empty }));
  return { targets: [...targets, ...added], unlisted: pruned };
}

async function applyPlans(
  api: Api,
  terminal: Terminal,
  plans: readonly Plan[],
  { json = false, yes = false }: ApplyFlags,
): Promise<void> {
  const changed = plans.filter(({ result }) => result.changed);
  let applied = 0;
  try {
    await forEachSet(terminal, 'Applying', changed, async (plan) => {
      const { result, planned, responseWasLost } = await applyPlan(api, terminal, plan, yes);
      plan.result = result;
      applied += 1;
      const text = responseWasLost
        ? plain(`source ${plan.source}: applied; the first response was lost`)
        : resultText(result);
      if (!json) terminal.print(text);
      else if (responseWasLost) terminal.note(text);
      showSecrets(terminal, plan, planned.channels?.created ?? [], json);
    });
  } catch (error) {
    const names = changed.slice(applied).map(({ source }) => source);
    if (changed.length > 1) terminal.note(plain(`Not applied: ${names.join(', ')}.`));
    throw error;
  }
}

/**
 * Prints the generated secrets of new channels, because no later response contains them.
 * @param planned channels of the plan to create
 */
function showSecrets(
  { print, note }: Terminal,
  { channels, result }: Plan,
  planned: ChannelSetResult['created'],
  json: boolean,
): void {
  const created = result.channels?.created.filter(({ secret }) => secret !== null) ?? [];
  if (created.length > 0 && !json) print(secretsText(created));
  const given = channels?.filter(({ fields }) => fields.secret !== undefined) ?? [];
  const known = new Set([...created, ...given].map(({ externalId }) => externalId));
  const lost = planned.flatMap(({ externalId }) => (known.has(externalId) ? [] : externalId));
  if (lost.length > 0)
    note(
      plain(
        `Channels whose generated secrets were lost with a response: ${lost.join(', ')}. An owner can reveal them in the dashboard.`,
      ),
    );
}

/** Shows a progress bar if there are several sets. */
async function forEachSet<Item extends FileSet>(
  terminal: Terminal,
  verb: string,
  sets: readonly Item[],
  work: (set: Item) => Promise<void>,
): Promise<void> {
  const total = sets.reduce((sum, { monitors }) => sum + monitors.length, 0);
  await withProgress(terminal, `${verb} …`, sets.length > 1 ? total : undefined, async (update) => {
    let done = 0;
    for (const set of sets) {
      update(plain(`${verb} ${set.monitors.length} monitors of ${set.source} …`), done);
      await work(set);
      done += set.monitors.length;
    }
  });
}

/** Reads what the plans change. */
async function readBefore(api: Api, plans: readonly Plan[]): Promise<Before> {
  const updates = plans.flatMap(({ result }) => [...result.updated, ...(result.channels?.updated ?? [])]);
  const all = updates.length > 0 ? [...(await api.listMonitors()), ...(await api.listChannels())] : [];
  return new Map(all.map((one) => [one.id, one]));
}
