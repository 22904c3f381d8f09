import { readFileSync } from 'node:fs';
import type { Selector } from '@tocsin/contracts/labels/selector';
import { parseSelector, SelectorSyntaxError } from '@tocsin/contracts/labels/selector-syntax';
import { LIMITS } from '@tocsin/contracts/limits';
import { MONITOR_STATUSES } from '@tocsin/contracts/vocabulary';
import { Argument, Command, InvalidArgumentError, Option } from 'commander';
import { createAgentToken, deleteAgentToken, listAgentTokens } from './commands/agent-tokens.ts';
import { apply, type ApplyFlags } from './commands/apply.ts';
import { listEvents } from './commands/events.ts';
import { exportMonitors } from './commands/export.ts';
import { importMonitors, TOOL_NAMES, type ImportFlags, type Tool } from './commands/import.ts';
import { maintain, type MaintainFlags } from './commands/maintain.ts';
import { listMonitors } from './commands/monitors.ts';
import { showResponse } from './commands/response.ts';
import { createRegion, deleteRegion, listRegions } from './commands/regions.ts';
import { rename } from './commands/rename.ts';
import { renameSource } from './commands/rename-source.ts';
import { tail } from './commands/tail.ts';
import { trigger, type TriggerFlags } from './commands/trigger.ts';
import { validateFiles, type ValidateFlags } from './commands/validate.ts';
import { ApiClient } from './http/api-client.ts';
import { readSettings, type ServerFlags } from './http/settings.ts';
import type { Terminal } from './terminal/terminal.ts';
import { plain } from './terminal/text.ts';

const HELP = `
Environment:
  TOCSIN_URL            URL of Tocsin (default: http://localhost:3000)
  TOCSIN_API_KEY        API key
  TOCSIN_API_KEY_FILE   file that contains the API key
  NO_COLOR              disables colors
  FORCE_COLOR           enables colors in files and pipes

Exit codes:
  0  success
  1  failure
  2  files and monitors differ, or a monitor is DOWN
  3  conflict: something else changed or owns the monitors
  4  refused deletion (--max-delete)
  5  server unavailable
  6  invalid input
  maintain exits with the code of its command.

Examples:
  tocsin validate monitors/
  tocsin apply -f monitors/ --dry-run
  tocsin maintain -l app=shop --for 10m -- ./deploy.sh
  tocsin trigger shop-front --wait 120
  tocsin tail -f`;

type OnExit = (code: number) => void;
/** A command that calls the API. `Args` are its arguments and flags. */
type ApiCommand<Args extends unknown[]> = (
  api: ApiClient,
  terminal: Terminal,
  ...args: Args
) => Promise<number>;
/** Converts a command to a Commander action. */
type ToAction = <Args extends unknown[]>(command: ApiCommand<Args>) => (...args: Args) => Promise<void>;

/**
 * Creates the command line.
 * @param rawArgs arguments to parse
 * @param isJson true if errors are not written as text
 * @param onExit called with the exit code
 */
export function createProgram(
  rawArgs: readonly string[],
  isJson: boolean,
  terminal: Terminal,
  onExit: OnExit,
): Command {
  const program = new Command('tocsin')
    .description('Manage Tocsin monitors as code: apply files, show differences, run checks, follow results.')
    .version(readVersion(), '-V, --version', 'print the version')
    .option('--server <url>', 'URL of Tocsin (TOCSIN_URL)')
    .option('--api-key-file <file>', 'file that contains the API key (TOCSIN_API_KEY_FILE)')
    .addHelpText('after', HELP)
    .showHelpAfterError('(run tocsin --help for help)')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.print(text.trimEnd()),
      writeErr: (text) => {
        if (!isJson) terminal.note(text.trimEnd());
      },
    });
  const connect = async (): Promise<ApiClient> => {
    let lastReason = '';
    return new ApiClient({
      ...(await readSettings(program.opts<ServerFlags>(), terminal)),
      signal: terminal.signal,
      onRetry: (reason, inSeconds) => {
        // Otherwise, `tail -f` would repeat the reason during an outage.
        if (reason === lastReason) return;
        lastReason = reason;
        terminal.note(`${plain(reason)}. Trying again${inSeconds > 0 ? ` in ${inSeconds} s` : ''} …`);
      },
    });
  };
  const toAction: ToAction =
    (command) =>
    async (...args) =>
      onExit(await command(await connect(), terminal, ...args));
  addFileCommands(program, toAction);
  program
    .command('validate')
    .description('validate files without a server; unset variables are listed, but are not errors')
    .argument('[path...]', 'files, folders with files, or - for standard input (default: tocsin.yaml)')
    .addOption(files())
    .option('--source <name>', 'source of files that do not name one')
    .action(async (paths: string[], flags: ValidateFlags) =>
      onExit(await validateFiles(terminal, paths, flags)),
    );
  program
    .command('import')
    .description('convert the configuration of another tool to a file')
    .addArgument(new Argument('<tool>', 'the other tool').choices(TOOL_NAMES))
    .argument(
      '<file>',
      'backup of Uptime Kuma 1.x or monitors of its database (JSON), or configuration of Gatus (YAML file, folder or ConfigMap)',
    )
    .option('--source <name>', 'source to write into the file (default: the name of the tool)')
    .addOption(secrets())
    .option('--incomplete', 'import monitors that cannot pass yet, instead of writing them as comments')
    .addOption(output())
    .action(async (tool: Tool, file: string, flags: ImportFlags) =>
      onExit(await importMonitors(terminal, tool, file, flags)),
    );
  addMonitorCommands(program, toAction);
  addMaintain(program, toAction, rawArgs);
  addRegionCommands(program, toAction);
  return program;
}

/** In this package and in the published one, `package.json` is in the parent folder of this file. */
function readVersion(): string {
  const manifest = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return (JSON.parse(manifest) as { readonly version: string }).version;
}

const files = (): Option =>
  new Option(
    '-f, --file <path...>',
    'files, folders with files, or - for standard input (default: tocsin.yaml)',
  );
const labelSelector = (ifEmpty = 'Name a label, such as app=shop.'): Option =>
  new Option('-l, --selector <selector>', 'monitors with these labels, such as app=shop,tier!=db').argParser(
    (text: string) => parseSelectorFlag(text, ifEmpty),
  );
const yes = (): Option => new Option('-y, --yes', 'do not ask for confirmation');
const json = (): Option => new Option('--json', 'print JSON');
const secrets = (): Option => new Option('--secrets', 'write request bodies and header values into the file');
const output = (): Option => new Option('-o, --output <file>', 'write to a new file instead of stdout');

function addFileCommands(program: Command, toAction: ToAction): void {
  const command = (name: string, description: string, prune: string): Command =>
    program
      .command(name)
      .description(description)
      .addOption(files())
      .option('--source <name>', 'source of files that do not name one')
      .option('--prune', `${prune} monitors and channels of the same sources that are not in the files`)
      .addOption(
        new Option(
          '--prune-sources <pattern...>',
          `${prune} everything of these sources if no file names them; a trailing * matches a prefix`,
        ).argParser(parsePattern),
      )
      .addOption(
        count(
          '--max-delete <count>',
          'fail and change nothing if the plan deletes more monitors and channels',
          0,
        ),
      );
  command('apply', 'make the monitors and channels match the files', 'delete')
    .option('--dry-run', 'only show the changes; exit code 2 if there are any')
    .addOption(yes())
    .addOption(json())
    .action(toAction(apply));
  command('diff', 'show the changes that apply would make; exit code 2 if there are any', 'plan to delete')
    .addOption(json())
    .action(toAction((api, terminal, flags: ApplyFlags) => apply(api, terminal, { ...flags, dryRun: true })));
  program
    .command('export')
    .description('write the monitors and channels of a source to a file')
    .option('--source <name>', 'source to export; optional if there is only one')
    .option('--adopt', 'first assign the source and an externalId to monitors without a source')
    .addOption(secrets())
    .addOption(output())
    .action(toAction(exportMonitors));
  program
    .command('rename')
    .description('change the externalId of a monitor or channel and keep everything else')
    .argument('<old>', 'current externalId, or id')
    .argument('<new>', 'new externalId')
    .option('--channel', 'rename a channel')
    .action(toAction(rename));
  program
    .command('rename-source')
    .description('move the monitors and channels of a source to another one; repeat it if it is interrupted')
    .argument('<old>', 'current name')
    .argument('<new>', 'new name')
    .addOption(yes())
    .action(toAction(renameSource));
}

function addMonitorCommands(program: Command, toAction: ToAction): void {
  const monitor = 'id, externalId or name';
  program
    .command('monitors')
    .description('list the monitors')
    .option('--source <name>', 'only monitors of this source')
    .addOption(
      new Option('--status <status>', 'only monitors with this status')
        .choices(MONITOR_STATUSES)
        .argParser(parseStatus),
    )
    .addOption(labelSelector())
    .addOption(json())
    .action(toAction(listMonitors));
  program
    .command('events')
    .description('print the history of a monitor')
    .argument('<monitor>', monitor)
    .addOption(count('-n, --limit <count>', 'number of events', 1, 50))
    .option('--since <timestamp>', 'print the first events after this time, such as 2026-01-31T12:00:00Z')
    .addOption(json())
    .action(toAction(listEvents));
  program
    .command('response')
    .description('print what the target sent to a failed check; the API key needs the scope write')
    .argument('<monitor>', monitor)
    .argument('[timestamp]', 'timestamp of the event (default: the latest event that kept its response)')
    .addOption(json())
    .action(toAction(showResponse));
  program
    .command('tail')
    .description('print the latest results, and with -f each new one')
    .argument('[monitor...]', `${monitor} (default: all monitors)`)
    .addOption(labelSelector())
    .option('-f, --follow', 'follow new results until Ctrl-C')
    .addOption(count('-n, --limit <count>', 'number of results to start with', 0, 10))
    .option('--since <timestamp>', 'start with all results after this time')
    .addOption(count('--every <seconds>', 'polling interval', 1, 1))
    .option('--json', 'print one line of JSON per result')
    .action(toAction(tail));
  program
    .command('trigger')
    .description('check monitors now; exit code 2 if one is DOWN')
    .argument('[monitor...]', monitor)
    .addOption(labelSelector())
    .option('--url <url>', 'check this URL instead, once, without changing the status')
    .addOption(count('--wait <seconds>', 'repeat until all monitors are UP, for at most this time', 0))
    .addOption(json())
    // Commander passes further arguments, which must not become `retryAfterMs`.
    .action(
      toAction((api, terminal, words: string[], flags: TriggerFlags) => trigger(api, terminal, words, flags)),
    );
}

function addRegionCommands(program: Command, toAction: ToAction): void {
  const regions = program.command('regions').description('list, create and delete regions');
  regions
    .command('list', { isDefault: true })
    .description('list regions with their health, checkers and agents')
    .addOption(json())
    .action(toAction(listRegions));
  regions
    .command('create')
    .description('create a region served by agents')
    .argument('<code>', 'lower-case letters, digits and hyphens')
    .option('--name <name>', 'display name')
    .addOption(json())
    .action(toAction(createRegion));
  regions
    .command('delete')
    .description('delete a region that no monitor uses, and disconnect its agents')
    .argument('<code>', 'code of the region')
    .action(toAction((api, terminal, code: string) => deleteRegion(api, terminal, code)));
  const tokens = program.command('agent-tokens').description('list, create and delete agent tokens');
  tokens
    .command('list')
    .description('list the tokens of a region')
    .argument('<region>', 'code of the region')
    .addOption(json())
    .action(toAction(listAgentTokens));
  tokens
    .command('create')
    .description('create a token and print it, the only time that it is shown')
    .argument('<region>', 'code of the region')
    .argument('<name>', 'where the agents run')
    .option('--expires-at <timestamp>', 'when it expires, such as 2027-01-31T12:00:00Z (default: never)')
    .addOption(json())
    .action(toAction(createAgentToken));
  tokens
    .command('delete')
    .description('delete a token and disconnect its agents')
    .argument('<region>', 'code of the region')
    .argument('<id>', 'id of the token')
    .action(
      toAction((api, terminal, region: string, id: string) => deleteAgentToken(api, terminal, region, id)),
    );
}

function parsePattern(text: string, before: readonly string[] = []): readonly string[] {
  const pattern = text.trim();
  if (/^[^*]+\*?$|^\*$/.test(pattern)) return [...before, pattern];
  throw new InvalidArgumentError('It must be the name of a source, or a prefix followed by *.');
}

function addMaintain(program: Command, toAction: ToAction, rawArgs: readonly string[]): void {
  program
    .command('maintain')
    .description('silence monitors for a time, or while a command runs')
    .usage('[options] [monitor...] [-- command...]')
    .argument('[monitor...]', 'id, externalId or name')
    .addOption(labelSelector('To cover every monitor, use --all.'))
    .option('--all', 'all monitors')
    .requiredOption('--for <duration>', 'maximum duration, such as 30s, 10m, 2h or 1d', parseDuration)
    .option('--name <text>', 'name of the maintenance window', 'tocsin maintain')
    .action(
      toAction((api, terminal, operands: string[], flags: MaintainFlags) => {
        // Commander removes the separator and treats the command as operands.
        const separator = rawArgs.indexOf('--');
        const command = separator < 0 ? [] : rawArgs.slice(separator + 1);
        const words = operands.slice(0, operands.length - command.length);
        return maintain(api, terminal, words, command, flags);
      }),
    );
}

function parseSelectorFlag(text: string, ifEmpty: string): Selector {
  if (text.trim() === '') throw new InvalidArgumentError(`It is empty. ${ifEmpty}`);
  try {
    return parseSelector(text);
  } catch (error) {
    if (error instanceof SelectorSyntaxError) throw new InvalidArgumentError(`${error.message}.`);
    throw error;
  }
}

const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** @returns seconds */
function parseDuration(text: string): number {
  const [, count, unit = ''] = /^(\d+)([smhd])$/.exec(text) ?? [];
  const seconds = Number(count) * (UNIT_SECONDS[unit] ?? Number.NaN);
  if (seconds >= 1 && seconds <= LIMITS.maintenanceDays * 86_400) return seconds;
  throw new InvalidArgumentError(
    `It must be a number with s, m, h or d, such as 10m, and at most ${LIMITS.maintenanceDays}d.`,
  );
}

function parseStatus(text: string): string {
  const status = text.toUpperCase();
  if ((MONITOR_STATUSES as readonly string[]).includes(status)) return status;
  throw new InvalidArgumentError(`It must be one of ${MONITOR_STATUSES.join(', ')}.`);
}

function count(flags: string, description: string, min: number, byDefault?: number): Option {
  const option = new Option(flags, description).argParser((text: string) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min)
      throw new InvalidArgumentError(`It must be a whole number, and at least ${min}.`);
    if (value > 86_400) throw new InvalidArgumentError('It must be at most 86400.');
    return value;
  });
  return byDefault === undefined ? option : option.default(byDefault);
}
