import { isSourceAllowed } from '@tocsin/contracts/labels/sources';
import type { ChannelSetResult, MonitorSetResult } from '@tocsin/contracts/monitor-sets/monitor-set';
import { includesFolder } from '../files/find-files.ts';
import { loadSets, type FileSet } from '../files/load-sets.ts';
import { InvalidFilesError } from '../files/yaml-file.ts';
import type { ApiClient } from '../http/api-client.ts';
import { ApiError } from '../http/api-error.ts';
import { CliError, EXIT, type ExitCode } from '../terminal/cli-error.ts';
import { requireConfirmation, withProgress, type Terminal } from '../terminal/terminal.ts';
import { plain } from '../terminal/text.ts';
import {
  findUnlistedSources,
  noteUnlistedSources,
  regionsOf,
  type UnlistedSource,
  warnAboutRegions,
} from './account-checks.ts';
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

interface Target extends FileSet {
  readonly prune: boolean;
  /** True if no file contains the source, so that all of its monitors are deleted. */
  readonly isUnlisted: boolean;
}

interface Plan {
  readonly result: MonitorSetResult;
  readonly etag: string | null;
  /** True if the response to the request that applied the set was lost. */
  readonly responseWasLost: boolean;
  /** True if another pipeline changed the source after the plan was shown. */
  readonly isNewPlan: boolean;
}

type Api = Pick<ApiClient, 'putSet' | 'listMonitors' | 'listChannels' | 'listRegions'>;
type Plans = Map<Target, Plan>;

/**
 * Makes the monitors and channels match the files. Shows the plan, asks for confirmation and applies it. Each source is one request,
 * which the API applies completely or not at all.
 * @returns `negative` if a dry run finds differences
 */
export async function apply(api: Api, terminal: Terminal, flags: ApplyFlags): Promise<ExitCode> {
  const { dryRun = false, yes = false, json = false, maxDelete = Infinity } = flags;
  if (!dryRun) requireConfirmation(terminal, yes);
  const { targets, unlisted } = await findTargets(api, terminal, flags);
  const plans: Plans = new Map();
  await forEachSet(terminal, 'Comparing', targets, async (set) => {
    plans.set(set, await sendSet(api, set, true, null));
  });
  const changed = targets.filter((set) => plans.get(set)?.result.changed);
  const asks = !yes && !dryRun;
  const before = await readBefore(api, plans);
  if (!json) showPlans(plans, before, terminal.print, terminal.colors);
  else if (asks) showPlans(plans, before, terminal.note, terminal.noteColors);
  if (!json && flags.pruneSources === undefined) noteUnlistedSources(unlisted ?? [], terminal);
  const newRegions = await warnAboutRegions(api, regionsOf(targets), terminal);
  const applies = !dryRun && changed.length > 0;
  if (!applies) {
    for (const code of newRegions)
      terminal.note(
        `Warning: no monitor uses region ${plain(code)} yet. Make sure that a checker serves it.`,
      );
  }
  let deletions = 0;
  for (const { result } of plans.values()) deletions += deletedIds(result).length;
  const isRefused = deletions > maxDelete;
  if (json && (!applies || isRefused)) printJson(terminal, plans, before, unlisted, dryRun || isRefused);
  if (isRefused)
    throw new CliError(
      `The plan deletes ${deletions} monitors and channels, more than --max-delete ${maxDelete}. Nothing was changed.`,
      [],
      undefined,
      { code: 'deletion_refused', retryable: false },
    );
  if (!applies) return changed.length > 0 ? EXIT.negative : EXIT.ok;
  if (asks && !(await terminal.confirm('Apply these changes?'))) {
    terminal.note('Nothing was changed.');
    return EXIT.failed;
  }
  try {
    await applyPlans(api, terminal, { changed, plans, json, mayReplan: !asks });
  } finally {
    // After an error, sets that were not applied keep the result of their dry run.
    if (json) printJson(terminal, plans, before, unlisted, false);
  }
  if (newRegions.length > 0) await warnAboutRegions(api, newRegions, terminal);
  return EXIT.ok;
}

/** Sets in the files, and an empty set for each source to prune. `unlisted` is null if it was not determined. */
async function findTargets(
  api: Api,
  terminal: Terminal,
  { file = [], source, prune = false, pruneSources }: ApplyFlags,
): Promise<{ targets: Target[]; unlisted: UnlistedSource[] | null }> {
  const sets = await loadSets(file, source, terminal);
  const targets = sets.map((set): Target => ({ ...set, prune, isUnlisted: false }));
  // A single file rarely describes the whole account.
  if (pruneSources === undefined && !(await includesFolder(file, terminal.cwd)))
    return { targets, unlisted: null };
  const unlisted = findUnlistedSources(await api.listMonitors(), await api.listChannels(), sets);
  if (pruneSources === undefined) return { targets, unlisted };
  const pruned = unlisted.filter(({ source: name }) => isSourceAllowed(pruneSources, name));
  const empty = pruned.map(({ source: name }): Target => ({
    source: name,
    monitors: [],
    channels: [],
    prune: true,
    isUnlisted: true,
  }));
  return { targets: [...targets, ...empty], unlisted: pruned };
}

interface Applying {
  readonly changed: readonly Target[];
  /** Receives the results. */
  readonly plans: Plans;
  readonly json: boolean;
  /** True if a plan that has changed is replaced once. A user must confirm the new plan first. */
  readonly mayReplan: boolean;
}

async function applyPlans(
  api: Api,
  terminal: Terminal,
  { changed, plans, json, mayReplan }: Applying,
): Promise<void> {
  const remaining = new Set(changed);
  try {
    await forEachSet(terminal, 'Applying', changed, async (set) => {
      const plan = plans.get(set);
      if (plan === undefined) return;
      const applied = await applyPlan(api, terminal, set, plan, mayReplan);
      // After a new plan, another pipeline has created the other channels, and has shown their secrets.
      const planned = applied.isNewPlan ? [] : (plan.result.channels?.created ?? []);
      plans.set(set, applied);
      remaining.delete(set);
      const text = applied.responseWasLost
        ? plain(`source ${set.source}: applied; the first response was lost`)
        : resultText(applied.result);
      if (!json) terminal.print(text);
      else if (applied.responseWasLost) terminal.note(text);
      showSecrets(terminal, set, planned, applied.result, json);
    });
  } catch (error) {
    const names = [...remaining].map(({ source }) => source).join(', ');
    if (changed.length > 1) terminal.note(plain(`Not applied: ${names}.`));
    throw error;
  }
}

/**
 * Prints the generated secrets of new channels, because no later response contains them.
 * @param planned channels of the plan to create
 */
function showSecrets(
  { print, note }: Terminal,
  { channels }: FileSet,
  planned: ChannelSetResult['created'],
  { channels: applied }: MonitorSetResult,
  json: boolean,
): void {
  const created = (applied?.created ?? []).filter(({ secret }) => secret !== null);
  if (created.length > 0 && !json) print(secretsText(created));
  const shown = new Set(created.map(({ externalId }) => externalId));
  const given = new Set(
    channels?.flatMap(({ externalId, fields }) => (fields.secret === undefined ? [] : externalId)),
  );
  const lost = planned.filter(({ externalId }) => !shown.has(externalId) && !given.has(externalId));
  if (lost.length > 0) {
    const names = lost.map(({ externalId }) => externalId).join(', ');
    note(
      plain(
        `Channels whose generated secrets were lost with a response: ${names}. An owner can reveal them in the dashboard.`,
      ),
    );
  }
}

/** Shows a progress bar if there are several sets. */
async function forEachSet(
  terminal: Terminal,
  verb: string,
  sets: readonly Target[],
  work: (set: Target) => Promise<void>,
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
async function readBefore(api: Api, plans: Plans): Promise<Before> {
  const results = Array.from(plans.values(), ({ result }) => result);
  const monitors = results.some(({ updated }) => updated.length > 0) ? await api.listMonitors() : [];
  const changesChannels = results.some(({ channels }) => channels && channels.updated.length > 0);
  const channels = changesChannels ? await api.listChannels() : [];
  return new Map([...monitors, ...channels].map((one) => [one.id, one]));
}

function showPlans(plans: Plans, before: Before, show: Terminal['print'], colors: Terminal['colors']): void {
  for (const [set, { result }] of plans) show(planText(result, set, before, colors));
}

/** @param isPlan true if nothing was to be applied. Otherwise, sets without changes count as applied */
function printJson(
  terminal: Terminal,
  plans: Plans,
  before: Before,
  unlistedSources: readonly UnlistedSource[] | null,
  isPlan: boolean,
): void {
  const sets = Array.from(plans, ([set, { result }]) => ({
    ...planJson(result, set, before),
    dryRun: isPlan || (result.dryRun && result.changed),
  }));
  terminal.printJson({ sets, ...(unlistedSources !== null && { unlistedSources }) }, 2);
}

/**
 * Applies a plan. If it is outdated, another pipeline has changed the source, or an earlier request whose response was lost has applied it.
 * @throws CliError if the new plan may not be applied
 */
async function applyPlan(
  api: Api,
  { note }: Terminal,
  set: Target,
  { result: planned, etag }: Plan,
  mayReplan: boolean,
): Promise<Plan> {
  const { source } = set;
  let outdated: unknown;
  const send = (plan: string | null): Promise<Plan | null> =>
    sendSet(api, set, false, plan).catch((error: unknown) => {
      if (!(error instanceof ApiError) || error.status !== 412) throw error;
      outdated = error.followsLostResponse ? unknownResult(source, error) : planConflict(source, error);
      return null;
    });
  const applied = await send(etag);
  if (applied !== null) return applied;
  const isLost = outdated instanceof CliError && outdated.code !== 'conflict';
  if (!isLost && !mayReplan) throw outdated;
  const now = await sendSet(api, set, true, null).catch((error: unknown) => {
    throw isLost ? unknownResult(source, error) : error;
  });
  if (!now.result.changed)
    return {
      ...now,
      result: { ...now.result, dryRun: false },
      responseWasLost: isLost,
      isNewPlan: !isLost,
    };
  if (!mayReplan || !deletesOnly(now.result, planned)) throw outdated;
  note(plain(`The plan for source ${source} has changed since it was shown. Applying the new plan.`));
  const reapplied = await send(now.etag);
  if (reapplied === null) throw outdated;
  return { ...reapplied, isNewPlan: true };
}

function deletedIds({ deleted, channels }: MonitorSetResult): string[] {
  return [...deleted, ...(channels?.deleted ?? [])].map(({ id }) => id);
}

/** True if a plan deletes nothing else than another plan. */
function deletesOnly(plan: MonitorSetResult, other: MonitorSetResult): boolean {
  const allowed = new Set(deletedIds(other));
  return deletedIds(plan).every((id) => allowed.has(id));
}

function planConflict(source: string, cause: unknown): CliError {
  return new CliError(
    `The plan for source ${source} has changed since it was shown. Review it and apply again.`,
    [],
    cause,
    { code: 'conflict', retryable: true },
  );
}

function unknownResult(source: string, cause: unknown): CliError {
  return new CliError(
    `A response for source ${source} was lost, and its monitors or channels have changed since. It is not known whether the set was applied. Run diff or apply again.`,
    cause instanceof CliError ? [cause.message] : [],
    cause,
    { code: 'failed', retryable: true },
  );
}

/**
 * Sends a set to the API.
 * @param etag plan that may be applied, or null for any plan
 * @throws CliError with file positions of all fields that the API rejects, or ApiError
 */
async function sendSet(api: Api, set: Target, dryRun: boolean, etag: string | null): Promise<Plan> {
  const { source, monitors, channels, prune } = set;
  const request = {
    source,
    monitors: monitors.map(({ fields }) => fields),
    ...(channels && { channels: channels.map(({ fields }) => fields) }),
    prune,
    dryRun,
  };
  try {
    return { ...(await api.putSet(request, etag)), responseWasLost: false, isNewPlan: false };
  } catch (error) {
    throw error instanceof ApiError ? atPositions(error, set) : error;
  }
}

/** Adds file positions to an error if all of its field errors concern monitors and channels. */
function atPositions(error: ApiError, { monitors, channels }: FileSet): Error {
  const fileErrors = error.errors.flatMap(({ path, message }) => {
    const [, kind, index = '', field = ''] = /^(monitors|channels)\.(\d+)\.?(.*)$/s.exec(path) ?? [];
    const entry = (kind === 'channels' ? channels : monitors)?.[Number(index || NaN)];
    if (entry === undefined) return [];
    const text = message.replace(/ \(externalId ".*"\)$/s, '');
    return [{ position: entry.position(field), message: field === '' ? text : `${field} ${text}` }];
  });
  if (fileErrors.length === 0 || fileErrors.length < error.errors.length) return error;
  const invalid = new InvalidFilesError(fileErrors);
  return error.status === 409 ? new CliError(error.message, invalid.lines, error, error) : invalid;
}
