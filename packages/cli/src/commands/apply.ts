import type { MonitorSetResult } from '@tocsin/contracts/monitor-sets/monitor-set';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { loadSets, type FileSet } from '../files/load-sets.ts';
import { invalidFiles } from '../files/yaml-file.ts';
import type { ApiClient } from '../http/api-client.ts';
import { ApiError } from '../http/api-error.ts';
import { CliError, EXIT, type ExitCode } from '../terminal/cli-error.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { jsonText, plain } from '../terminal/text.ts';
import { planText, resultText } from './plan-text.ts';

export interface ApplyFlags {
  readonly file?: readonly string[];
  readonly source?: string;
  readonly prune?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

/** A set and the API's result for it. */
interface Plan {
  readonly set: FileSet;
  readonly result: MonitorSetResult;
  readonly etag: string | null;
  /** Whether the set was applied by a request whose response was lost. */
  readonly responseWasLost: boolean;
}

/**
 * Makes the monitors match the files: shows the plan, asks for confirmation on a terminal and applies it. Each source is one request,
 * which the API applies as a whole or not at all.
 * @returns `negative` if a dry run finds differences
 */
export async function apply(api: ApiClient, terminal: Terminal, flags: ApplyFlags): Promise<ExitCode> {
  const { prune = false, dryRun = false, yes = false, json = false } = flags;
  const sets = await loadSets(flags.file ?? [], flags.source, terminal);
  const plans: Plan[] = [];
  await forEachSet(terminal, 'Comparing', sets, async (set) => {
    plans.push(await sendSet(api, set, { prune, dryRun: true }, null));
  });
  const changes = plans.filter(({ result }) => result.changed);
  const asks = terminal.isInteractive && !yes && !dryRun;
  if (!json) await showPlans(api, terminal, plans, terminal.print);
  else if (asks) await showPlans(api, terminal, plans, terminal.note);
  if (dryRun || changes.length === 0) {
    if (json) printJson(terminal, plans);
    return changes.length > 0 ? EXIT.negative : EXIT.ok;
  }
  if (asks && !(await terminal.confirm('Apply these changes?'))) {
    terminal.note('Nothing was changed.');
    return EXIT.failed;
  }
  await applyChanges(api, terminal, plans, { prune, json, onlyAsShown: asks });
  return EXIT.ok;
}

interface ApplyOptions {
  readonly prune: boolean;
  readonly json: boolean;
  /** Whether a user confirmed the plans: then nothing else may be applied. */
  readonly onlyAsShown: boolean;
}

/** Applies the plans with changes. Whatever ends it, the results so far are printed; in JSON, the other plans are dry runs. */
async function applyChanges(
  api: ApiClient,
  terminal: Terminal,
  plans: readonly Plan[],
  { prune, json, onlyAsShown }: ApplyOptions,
): Promise<void> {
  const planOf = new Map(plans.map((plan) => [plan.set, plan]));
  const remaining = new Set(plans.filter(({ result }) => result.changed).map(({ set }) => set));
  const count = remaining.size;
  try {
    await forEachSet(terminal, 'Applying', [...remaining], async (set) => {
      const etag = onlyAsShown ? (planOf.get(set)?.etag ?? null) : null;
      const applied = await sendSet(api, set, { prune, dryRun: false }, etag);
      planOf.set(set, applied);
      remaining.delete(set);
      const text = applied.responseWasLost
        ? plain(`source ${set.source}: applied; the first response was lost`)
        : resultText(applied.result);
      if (!json) terminal.print(text);
      else if (applied.responseWasLost) terminal.note(text);
    });
  } catch (error) {
    const names = [...remaining].map(({ source }) => source).join(', ');
    if (count > 1) terminal.note(plain(`Not applied: ${names}.`));
    throw error;
  } finally {
    if (json) printJson(terminal, [...planOf.values()]);
  }
}

/** Shows a progress bar by monitors if there are several sets. */
async function forEachSet(
  terminal: Terminal,
  verb: string,
  sets: readonly FileSet[],
  work: (set: FileSet) => Promise<void>,
): Promise<void> {
  const total = sets.reduce((sum, { monitors }) => sum + monitors.length, 0);
  const progress = terminal.progress(`${verb} …`, sets.length > 1 ? total : undefined);
  let done = 0;
  try {
    for (const set of sets) {
      progress.update(plain(`${verb} ${set.monitors.length} monitors of ${set.source} …`), done);
      await work(set);
      done += set.monitors.length;
    }
  } finally {
    progress.stop();
  }
}

async function showPlans(
  api: ApiClient,
  { colors }: Terminal,
  plans: readonly Plan[],
  show: (text: string) => void,
): Promise<void> {
  const showsValues = plans.some(({ result }) => result.updated.length > 0);
  const before = new Map<string, Monitor>(
    showsValues ? (await api.listMonitors()).map((monitor) => [monitor.id, monitor]) : [],
  );
  for (const { set, result } of plans) show(planText(result, set, before, colors));
}

function printJson(terminal: Terminal, plans: readonly Plan[]): void {
  terminal.print(jsonText({ sets: plans.map(({ result }) => result) }, 2));
}

/**
 * Sends a set to the API.
 * @param etag of the plan that may be applied; null: any plan
 * @throws CliError with the positions in the files of what the API refuses
 */
async function sendSet(
  api: ApiClient,
  set: FileSet,
  options: { prune: boolean; dryRun: boolean },
  etag: string | null,
): Promise<Plan> {
  const { source, monitors } = set;
  const request = { source, monitors: monitors.map(({ fields }) => fields), ...options };
  try {
    return { set, ...(await api.putSet(request, etag)), responseWasLost: false };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.status !== 412) throw atPositions(error, monitors);
    if (!error.followsLostResponse)
      throw new CliError(
        `The plan for source ${source} has changed since it was shown. Review it and apply again.`,
      );
  }
  // The first request may have applied the set, which made the repeated one out of date.
  let cause: unknown;
  try {
    const now = await api.putSet({ ...request, dryRun: true }, null);
    if (!now.result.changed)
      return { set, result: { ...now.result, dryRun: false }, etag: now.etag, responseWasLost: true };
  } catch (error) {
    cause = error;
  }
  throw new CliError(
    `A response about source ${source} was lost, and its monitors have changed since. It is not known whether the set was applied. Run diff or apply again.`,
    cause instanceof CliError ? [cause.message] : [],
    cause,
  );
}

/** The error with the positions in the files, if all of its field errors are about monitors. */
function atPositions(error: ApiError, monitors: FileSet['monitors']): Error {
  const fileErrors = error.errors.flatMap(({ path, message }) => {
    const [, index = '', field = ''] = /^monitors\.(\d+)\.?(.*)$/.exec(path) ?? [];
    const monitor = index === '' ? undefined : monitors[Number(index)];
    if (monitor === undefined) return [];
    const text = message.replace(/ \(externalId ".*"\)$/s, '');
    return [{ position: monitor.position(field), message: field === '' ? text : `${field} ${text}` }];
  });
  if (fileErrors.length === 0 || fileErrors.length < error.errors.length) return error;
  const invalid = invalidFiles(fileErrors);
  return error.status === 409 ? new CliError(error.message, invalid.lines, error) : invalid;
}
