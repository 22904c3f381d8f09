import type { MonitorSetResult } from '@tocsin/contracts/monitor-sets/monitor-set';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { loadSets } from '../files/load-sets.ts';
import type { FileSet } from '../files/load-sets.ts';
import { faultyFiles } from '../files/yaml-file.ts';
import type { ApiClient } from '../http/api-client.ts';
import { ApiError } from '../http/api-error.ts';
import { CliError, EXIT, type ExitCode } from '../terminal/cli-error.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { jsonText, plain } from '../terminal/text.ts';
import { planText, resultText } from './plan-text.ts';

/** What the API says of a set. */
export interface SentSet {
  readonly result: MonitorSetResult;
  readonly etag: string | null;
  /** Whether it is done, as its comparison said, by a request whose answer was lost. */
  readonly answerWasLost: boolean;
}

/**
 * Has the API compare a set, or apply it.
 * @param etag of the comparison that is to be carried out, and nothing else; null: whatever there is to do
 * @throws CliError with the places in the files of what the API finds wrong
 */
export async function sendSet(
  api: ApiClient,
  { source, monitors }: FileSet,
  options: { prune: boolean; dryRun: boolean },
  etag: string | null,
): Promise<SentSet> {
  const request = { source, monitors: monitors.map(({ fields }) => fields), ...options };
  try {
    return { ...(await api.putSet(request, etag)), answerWasLost: false };
  } catch (error) {
    if (error instanceof ApiError && error.status === 412) {
      if (error.followsLostAnswer) return await lookAgain(api, request);
      throw new CliError(
        `Monitors of source ${source} have changed since they were compared. The set was refused: run apply again to see what is to be done now.`,
      );
    }
    throw error instanceof ApiError ? atPlaces(error, monitors) : error;
  }
}

/**
 * After a refusal of what was sent twice: the first time may have done it, and so made the second one out of date.
 * @throws CliError where that cannot be told
 */
async function lookAgain(api: ApiClient, request: Parameters<ApiClient['putSet']>[0]): Promise<SentSet> {
  let cause: unknown;
  try {
    const { result, etag } = await api.putSet({ ...request, dryRun: true }, null);
    if (!result.changed) return { result: { ...result, dryRun: false }, etag, answerWasLost: true };
  } catch (error) {
    cause = error;
  }
  throw new CliError(
    `An answer about source ${request.source} was lost, and its monitors are not as they were compared: it is not known what was done. Run diff or apply again to see what is left to do.`,
    cause instanceof CliError ? [cause.message] : [],
    cause,
  );
}

function atPlaces(error: ApiError, monitors: FileSet['monitors']): Error {
  const faults = error.errors.flatMap(({ path, message }) => {
    const [, index = '', field = ''] = /^monitors\.(\d+)\.?(.*)$/.exec(path) ?? [];
    const monitor = index === '' ? undefined : monitors[Number(index)];
    if (monitor === undefined) return [];
    const said = message.replace(/ \(externalId ".*"\)$/s, '');
    return [{ place: monitor.place(field), message: field === '' ? said : `${field} ${said}` }];
  });
  if (faults.length === 0 || faults.length < error.errors.length) return error;
  const told = faultyFiles(faults);
  if (error.status === 409) return new CliError(error.message, told.lines, error);
  return told;
}

export interface ApplyFlags {
  readonly file?: readonly string[];
  readonly source?: string;
  readonly prune?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

/** A set with what the API would do with it. */
interface Plan extends SentSet {
  readonly set: FileSet;
}

/**
 * Makes the monitors what the files say: shows what would be done, asks where there is somebody to ask, does it. Each source is one
 * request, done whole or not at all.
 * @returns `negative` in a dry run where something differs
 */
export async function apply(api: ApiClient, terminal: Terminal, flags: ApplyFlags): Promise<ExitCode> {
  const prune = flags.prune === true;
  const sets = await loadSets(flags.file ?? [], flags.source, terminal);
  const plans: Plan[] = [];
  await inTurn(terminal, 'Comparing', sets, async (set) => {
    plans.push({ set, ...(await sendSet(api, set, { prune, dryRun: true }, null)) });
  });
  const differing = plans.filter(({ result }) => result.changed);
  const isSilent = flags.json === true;
  const asks = terminal.isInteractive && flags.yes !== true && flags.dryRun !== true;
  if (!isSilent) await showPlans(api, terminal, plans, terminal.print);
  else if (asks) await showPlans(api, terminal, plans, terminal.note);
  if (flags.dryRun === true || differing.length === 0) {
    if (isSilent) printJson(terminal, plans);
    return flags.dryRun === true && differing.length > 0 ? EXIT.negative : EXIT.ok;
  }
  if (asks && !(await terminal.confirm('Do this?'))) {
    terminal.note('Nothing was changed.');
    return EXIT.failed;
  }
  await applyAll(api, terminal, plans, { prune, isSilent, onlyAsShown: asks });
  return EXIT.ok;
}

interface ApplyOptions {
  readonly prune: boolean;
  readonly isSilent: boolean;
  /** Whether somebody has agreed to what they saw, and to nothing else. */
  readonly onlyAsShown: boolean;
}

/** What has nothing to do is left as it was compared. Whatever ends it, what was done until then is told: in JSON, what was not is a dry run. */
async function applyAll(
  api: ApiClient,
  terminal: Terminal,
  plans: readonly Plan[],
  { prune, isSilent, onlyAsShown }: ApplyOptions,
): Promise<void> {
  const done = new Map<FileSet, Plan>();
  const asCompared = new Map(plans.map((plan) => [plan.set, plan]));
  const differing = plans.filter(({ result }) => result.changed).map(({ set }) => set);
  try {
    await inTurn(terminal, 'Applying', differing, async (set) => {
      const etag = onlyAsShown ? (asCompared.get(set)?.etag ?? null) : null;
      const plan = { set, ...(await sendSet(api, set, { prune, dryRun: false }, etag)) };
      done.set(set, plan);
      const told = plan.answerWasLost
        ? plain(`source ${set.source}: done; the first answer was lost`)
        : resultText(plan.result);
      if (!isSilent) terminal.print(told);
      else if (plan.answerWasLost) terminal.note(told);
    });
  } catch (error) {
    const left = differing.filter((set) => !done.has(set)).map(({ source }) => source);
    if (differing.length > 1) terminal.note(plain(`Not finished: ${left.join(', ')}.`));
    throw error;
  } finally {
    const all = plans.map((plan) => done.get(plan.set) ?? plan);
    if (isSilent) printJson(terminal, all);
  }
}

/** Set by set, and shows how far it is: by the monitors, where there are several sets. */
async function inTurn(
  terminal: Terminal,
  doing: string,
  sets: readonly FileSet[],
  work: (set: FileSet) => Promise<void>,
): Promise<void> {
  const total = sets.reduce((sum, { monitors }) => sum + monitors.length, 0);
  const progress = terminal.progress(`${doing} …`, sets.length > 1 ? total : undefined);
  let done = 0;
  try {
    for (const set of sets) {
      progress.update(plain(`${doing} ${set.monitors.length} monitors of ${set.source} …`), done);
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
  const tellsOld = plans.some(({ result }) => result.updated.length > 0);
  const before = new Map<string, Monitor>(
    tellsOld ? (await api.listMonitors()).map((monitor) => [monitor.id, monitor]) : [],
  );
  for (const { set, result } of plans) show(planText(result, set, before, colors));
}

function printJson(terminal: Terminal, plans: readonly Plan[]): void {
  terminal.print(jsonText({ sets: plans.map(({ result }) => result) }, 2));
}
