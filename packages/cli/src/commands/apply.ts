import { isSourceAllowed } from '@tocsin/contracts/labels/sources';
import type { ChannelSetResult, MonitorSetResult } from '@tocsin/contracts/monitor-sets/monitor-set';
import { includesFolder } from '../files/find-files.ts';
import { loadSets, type FileSet } from '../files/load-sets.ts';
import { InvalidFilesError } from '../files/yaml-file.ts';
import type { ApiClient } from '../http/api-client.ts';
import { ApiError } from '../http/api-error.ts';
import { CliError, EXIT, type ExitCode } from '../terminal/cli-error.ts';
import { requireConfirmation, withProgress, type Terminal } from '../terminal/terminal.ts';
import { jsonText, plain } from '../terminal/text.ts';
import {
  findUnlistedSources,
  noteUnlistedSources,
  regionsOf,
  type UnlistedSource,
  warnAboutRegions,
} from './account-checks.ts';
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
  /** True if the source is in no file, so that all of its monitors are deleted. */
  readonly isUnlisted: boolean;
}

interface Plan {
  readonly result: MonitorSetResult;
  readonly etag: string | null;
  /** True if the response of the request that applied the set was lost. */
  readonly responseWasLost: boolean;
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
  if (!json || asks) await showPlans(api, terminal, plans, json ? terminal.note : terminal.print);
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
  for (const { result } of plans.values())
    deletions += result.deleted.length + (result.channels?.deleted.length ?? 0);
  const isRefused = deletions > maxDelete;
  if (json && (!applies || isRefused)) printJson(terminal, plans, unlisted, dryRun || isRefused);
  if (isRefused)
    throw new CliError(
      `The plan deletes ${deletions} monitors and channels, more than --max-delete ${maxDelete}. Nothing was changed.`,
    );
  if (!applies) return changed.length > 0 ? EXIT.negative : EXIT.ok;
  if (asks && !(await terminal.confirm('Apply these changes?'))) {
    terminal.note('Nothing was changed.');
    return EXIT.failed;
  }
  try {
    // --max-delete was compared with these plans, so only they may be applied.
    await applyPlans(api, terminal, { changed, plans, json, isBound: asks || maxDelete < Infinity });
  } finally {
    // After an error, sets that were not applied keep the result of their dry run.
    if (json) printJson(terminal, plans, unlisted, false);
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
  /** Applies only these plans. */
  readonly isBound: boolean;
}

async function applyPlans(
  api: Api,
  terminal: Terminal,
  { changed, plans, json, isBound }: Applying,
): Promise<void> {
  const remaining = new Set(changed);
  try {
    await forEachSet(terminal, 'Applying', changed, async (set) => {
      // A monitor that another pipeline has just added to a pruned source must not be deleted.
      const etag = isBound || set.isUnlisted ? (plans.get(set)?.etag ?? null) : null;
      const planned = plans.get(set)?.result.channels?.created ?? [];
      const applied = await sendSet(api, set, false, etag);
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

async function showPlans(
  api: Api,
  { colors }: Terminal,
  plans: Plans,
  show: (text: string) => void,
): Promise<void> {
  const results = Array.from(plans.values(), ({ result }) => result);
  const monitors = results.some(({ updated }) => updated.length > 0) ? await api.listMonitors() : [];
  const changesChannels = results.some(({ channels }) => channels && channels.updated.length > 0);
  const channels = changesChannels ? await api.listChannels() : [];
  const before = new Map([...monitors, ...channels].map((one) => [one.id, one]));
  for (const [set, { result }] of plans) show(planText(result, set, before, colors));
}

/** @param isPlan true if nothing was to be applied; otherwise sets without changes count as applied */
function printJson(
  terminal: Terminal,
  plans: Plans,
  unlistedSources: readonly UnlistedSource[] | null,
  isPlan: boolean,
): void {
  const sets = Array.from(plans.values(), ({ result }) => ({
    ...result,
    dryRun: isPlan || (result.dryRun && result.changed),
  }));
  terminal.print(jsonText({ sets, ...(unlistedSources !== null && { unlistedSources }) }, 2));
}

/**
 * Sends a set to the API.
 * @param etag plan that may be applied, or null for any plan
 * @throws CliError with file positions of all fields that the API rejects
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
    return { ...(await api.putSet(request, etag)), responseWasLost: false };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.status !== 412) throw atPositions(error, set);
    if (!error.followsLostResponse)
      throw new CliError(
        `The plan for source ${source} has changed since it was shown. Review it and apply again.`,
      );
  }
  // The first request may have applied the set, so that the plan of the retry was outdated.
  let cause: unknown;
  try {
    const now = await api.putSet({ ...request, dryRun: true }, null);
    if (!now.result.changed)
      return { result: { ...now.result, dryRun: false }, etag: now.etag, responseWasLost: true };
  } catch (error) {
    cause = error;
  }
  throw new CliError(
    `A response for source ${source} was lost, and its monitors or channels have changed since. It is not known whether the set was applied. Run diff or apply again.`,
    cause instanceof CliError ? [cause.message] : [],
    cause,
  );
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
  return error.status === 409 ? new CliError(error.message, invalid.lines, error) : invalid;
}
