import type { MonitorSetResult } from '@tocsin/contracts/monitor-sets/monitor-set';
import { loadSets, type FileSet } from '../files/load-sets.ts';
import { invalidFiles } from '../files/yaml-file.ts';
import type { ApiClient } from '../http/api-client.ts';
import { ApiError } from '../http/api-error.ts';
import { CliError, EXIT, type ExitCode } from '../terminal/cli-error.ts';
import { withProgress, type Terminal } from '../terminal/terminal.ts';
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

/** The API's result for a set. */
interface Plan {
  readonly result: MonitorSetResult;
  readonly etag: string | null;
  /** Whether the set was applied by a request whose response was lost. */
  readonly responseWasLost: boolean;
}

type Api = Pick<ApiClient, 'putSet' | 'listMonitors'>;

/**
 * Makes the monitors match the files: shows the plan, asks for confirmation on a terminal and applies it. Each source is one request,
 * which the API applies as a whole or not at all.
 * @returns `negative` if a dry run finds differences
 */
export async function apply(api: Api, terminal: Terminal, flags: ApplyFlags): Promise<ExitCode> {
  const { prune = false, dryRun = false, yes = false, json = false } = flags;
  const sets = await loadSets(flags.file ?? [], flags.source, terminal);
  const plans = new Map<FileSet, Plan>();
  await forEachSet(terminal, 'Comparing', sets, async (set) => {
    plans.set(set, await sendSet(api, set, { prune, dryRun: true }, null));
  });
  const changed = sets.filter((set) => plans.get(set)?.result.changed);
  const asks = terminal.isInteractive && !yes && !dryRun;
  if (!json || asks) await showPlans(api, terminal, plans, json ? terminal.note : terminal.print);
  if (dryRun || changed.length === 0) {
    if (json) printJson(terminal, plans);
    return changed.length > 0 ? EXIT.negative : EXIT.ok;
  }
  if (asks && !(await terminal.confirm('Apply these changes?'))) {
    terminal.note('Nothing was changed.');
    return EXIT.failed;
  }
  const remaining = new Set(changed);
  try {
    await forEachSet(terminal, 'Applying', changed, async (set) => {
      // Only the plans that the user confirmed may be applied.
      const etag = asks ? (plans.get(set)?.etag ?? null) : null;
      const applied = await sendSet(api, set, { prune, dryRun: false }, etag);
      plans.set(set, applied);
      remaining.delete(set);
      const text = applied.responseWasLost
        ? plain(`source ${set.source}: applied; the first response was lost`)
        : resultText(applied.result);
      if (!json) terminal.print(text);
      else if (applied.responseWasLost) terminal.note(text);
    });
  } catch (error) {
    const names = [...remaining].map(({ source }) => source).join(', ');
    if (changed.length > 1) terminal.note(plain(`Not applied: ${names}.`));
    throw error;
  } finally {
    // Also after an error. Sets that were not applied have the result of their dry run.
    if (json) printJson(terminal, plans);
  }
  return EXIT.ok;
}

/** Shows a progress bar by monitors if there are several sets. */
async function forEachSet(
  terminal: Terminal,
  verb: string,
  sets: readonly FileSet[],
  work: (set: FileSet) => Promise<void>,
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
  plans: ReadonlyMap<FileSet, Plan>,
  show: (text: string) => void,
): Promise<void> {
  const showsValues = [...plans.values()].some(({ result }) => result.updated.length > 0);
  const monitors = showsValues ? await api.listMonitors() : [];
  const before = new Map(monitors.map((monitor) => [monitor.id, monitor]));
  for (const [set, { result }] of plans) show(planText(result, set, before, colors));
}

function printJson(terminal: Terminal, plans: ReadonlyMap<FileSet, Plan>): void {
  terminal.print(jsonText({ sets: [...plans.values()].map(({ result }) => result) }, 2));
}

/**
 * Sends a set to the API.
 * @param etag of the plan that may be applied; null: any plan
 * @throws CliError with the position in the files of each field that the API refuses
 */
async function sendSet(
  api: Api,
  set: FileSet,
  options: { prune: boolean; dryRun: boolean },
  etag: string | null,
): Promise<Plan> {
  const { source, monitors } = set;
  const request = { source, monitors: monitors.map(({ fields }) => fields), ...options };
  try {
    return { ...(await api.putSet(request, etag)), responseWasLost: false };
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
      return { result: { ...now.result, dryRun: false }, etag: now.etag, responseWasLost: true };
  } catch (error) {
    cause = error;
  }
  throw new CliError(
    `A response for source ${source} was lost, and its monitors have changed since. It is not known whether the set was applied. Run diff or apply again.`,
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
