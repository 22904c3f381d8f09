import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import { loadSets } from '../files/load-sets.ts';
import type { FileSet } from '../files/load-sets.ts';
import type { ApiClient } from '../http/api-client.ts';
import { EXIT, type ExitCode } from '../terminal/cli-error.ts';
import { jsonText, plain } from '../terminal/plain.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { planText, resultText } from './plan-text.ts';
import { sendSet, type SentSet } from './send-set.ts';

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
