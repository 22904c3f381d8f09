import { readFileSync } from 'node:fs';
import { MONITOR_STATUSES } from '@tocsin/contracts/vocabulary';
import { Argument, Command, InvalidArgumentError, Option } from 'commander';
import { apply, type ApplyFlags } from './commands/apply.ts';
import { listEvents, type EventsFlags } from './commands/events.ts';
import { exportMonitors, type ExportFlags } from './commands/export.ts';
import { importMonitors, TOOL_NAMES, type ImportFlags, type Tool } from './commands/import.ts';
import { listMonitors, type ListFlags } from './commands/monitors.ts';
import { tail, type TailFlags } from './commands/tail.ts';
import { trigger, type TriggerFlags } from './commands/trigger.ts';
import { createApiClient, type ApiClient } from './http/api-client.ts';
import { readSettings, type ServerFlags } from './http/settings.ts';
import type { ExitCode } from './terminal/cli-error.ts';
import type { Terminal } from './terminal/terminal.ts';
import { plain } from './terminal/text.ts';

const HELP = `
Environment:
  TOCSIN_URL            URL of Tocsin (default: http://localhost:3000)
  TOCSIN_API_KEY        API key
  TOCSIN_API_KEY_FILE   file that contains the API key
  NO_COLOR              disables colors

Exit codes:
  0  success
  1  failure
  2  files and monitors differ, or a monitor is DOWN

Examples:
  tocsin apply -f monitors/ --dry-run
  tocsin trigger shop-front --wait 120
  tocsin tail -f`;

type Connect = () => Promise<ApiClient>;
type OnExit = (code: ExitCode) => void;

/** The command line. @param onExit called with the exit code of the command */
export function createProgram(terminal: Terminal, onExit: OnExit): Command {
  const program = new Command('tocsin')
    .description('Manage Tocsin monitors as code: apply files, show differences, run checks, follow results.')
    .version(readVersion(), '--version', 'print the version')
    .option('--server <url>', 'URL of Tocsin (TOCSIN_URL)')
    .option('--api-key-file <file>', 'file that contains the API key (TOCSIN_API_KEY_FILE)')
    .addHelpText('after', HELP)
    .showHelpAfterError('(run tocsin --help for help)')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.print(text.trimEnd()),
      writeErr: (text) => terminal.note(text.trimEnd()),
    });
  const connect = async (): Promise<ApiClient> => {
    let lastReason = '';
    return createApiClient({
      ...(await readSettings(program.opts<ServerFlags>(), terminal)),
      signal: terminal.signal,
      onRetry: (reason, inSeconds) => {
        // `tail -f` would print the same reason again and again during an outage.
        if (reason === lastReason) return;
        lastReason = reason;
        terminal.note(`${plain(reason)}. Trying again${inSeconds > 0 ? ` in ${inSeconds} s` : ''} …`);
      },
    });
  };
  addFileCommands(program, terminal, connect, onExit);
  addMonitorCommands(program, terminal, connect, onExit);
  return program;
}

/** Both this package and the published one have `package.json` beside the folder of this file. */
function readVersion(): string {
  const manifest = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return (JSON.parse(manifest) as { readonly version: string }).version;
}

const json = (): Option => new Option('--json', 'print JSON');

const files = (): Option =>
  new Option('-f, --file <path...>', 'files, or folders with files (default: tocsin.yaml)');
const defaultSource = (): Option => new Option('--source <name>', 'source of files that do not name one');
const secrets = (): Option => new Option('--secrets', 'write bodies and the values of headers into the file');
const output = (): Option => new Option('-o, --output <file>', 'write to a new file instead of stdout');

function addFileCommands(program: Command, terminal: Terminal, connect: Connect, onExit: OnExit): void {
  program
    .command('apply')
    .description('make the monitors match the files')
    .addOption(files())
    .addOption(defaultSource())
    .option('--prune', 'delete monitors of the same source that are not in the files')
    .option('--dry-run', 'only show the changes; exit code 2 if there are any')
    .option('-y, --yes', 'do not ask for confirmation')
    .addOption(json())
    .action(async (flags: ApplyFlags) => onExit(await apply(await connect(), terminal, flags)));
  program
    .command('diff')
    .description('show the changes that apply would make; exit code 2 if there are any')
    .addOption(files())
    .addOption(defaultSource())
    .option('--prune', 'include monitors of the same source that are not in the files')
    .addOption(json())
    .action(async (flags: ApplyFlags) =>
      onExit(await apply(await connect(), terminal, { ...flags, dryRun: true })),
    );
  program
    .command('export')
    .description('write the monitors of a source to a file')
    .option('--source <name>', 'source to export; optional if there is only one')
    .option('--adopt', 'first assign the source and an externalId to monitors without a source')
    .addOption(secrets())
    .addOption(output())
    .action(async (flags: ExportFlags) => onExit(await exportMonitors(await connect(), terminal, flags)));
  program
    .command('import')
    .description('convert the configuration of another tool to a file')
    .addArgument(new Argument('<tool>', 'the other tool').choices(TOOL_NAMES))
    .argument('<file>', 'backup of Uptime Kuma 1.x (JSON; 2.0 has none) or configuration of Gatus (YAML)')
    .option('--source <name>', 'source to write into the file (default: the name of the tool)')
    .addOption(secrets())
    .addOption(output())
    .action(async (tool: Tool, file: string, flags: ImportFlags) =>
      onExit(await importMonitors(terminal, tool, file, flags)),
    );
}

function addMonitorCommands(program: Command, terminal: Terminal, connect: Connect, onExit: OnExit): void {
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
    .addOption(json())
    .action(async (flags: ListFlags) => onExit(await listMonitors(await connect(), terminal, flags)));
  program
    .command('events')
    .description('print the history of a monitor')
    .argument('<monitor>', monitor)
    .addOption(count('-n, --limit <count>', 'number of events', 1, 50))
    .option('--since <timestamp>', 'print the first events after this time, such as 2026-01-31T12:00:00Z')
    .addOption(json())
    .action(async (word: string, flags: EventsFlags) =>
      onExit(await listEvents(await connect(), terminal, word, flags)),
    );
  program
    .command('tail')
    .description('print the latest results, and with -f each new one')
    .argument('[monitor...]', `${monitor} (default: all monitors)`)
    .option('-f, --follow', 'follow new results until Ctrl-C')
    .addOption(count('-n, --limit <count>', 'number of results to start with', 0, 10))
    .option('--since <timestamp>', 'start with all results after this time')
    .addOption(count('--every <seconds>', 'polling interval', 1, 2))
    .option('--json', 'print one line of JSON per result')
    .action(async (words: string[], flags: TailFlags) =>
      onExit(await tail(await connect(), terminal, words, flags)),
    );
  program
    .command('trigger')
    .description('check monitors now; exit code 2 if one is DOWN')
    .argument('<monitor...>', monitor)
    .option('--url <url>', 'check this URL instead, once, without changing the status')
    .addOption(count('--wait <seconds>', 'repeat the check until it is UP, for at most this time', 0))
    .addOption(json())
    .action(async (words: string[], flags: TriggerFlags) =>
      onExit(await trigger(await connect(), terminal, words, flags)),
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
    if (/^\d+$/.test(text) && value >= min && value <= 86_400) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${min} to 86400.`);
  });
  return byDefault === undefined ? option : option.default(byDefault);
}
