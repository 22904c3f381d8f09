import { readFileSync } from 'node:fs';
import { MONITOR_STATUSES } from '@tocsin/contracts/vocabulary';
import { Argument, Command, InvalidArgumentError, Option } from 'commander';
import { apply, type ApplyFlags } from './commands/apply.ts';
import { type EventsFlags, listEvents } from './commands/events.ts';
import { type ExportFlags, exportMonitors } from './commands/export.ts';
import { type ImportFlags, importMonitors, type Tool, TOOL_NAMES } from './commands/import.ts';
import { type ListFlags, listMonitors } from './commands/monitors.ts';
import { tail, type TailFlags } from './commands/tail.ts';
import { trigger, type TriggerFlags } from './commands/trigger.ts';
import { type ApiClient, createApiClient } from './http/api-client.ts';
import { readSettings, type ServerFlags } from './http/settings.ts';
import type { ExitCode } from './terminal/cli-error.ts';
import type { Terminal } from './terminal/terminal.ts';
import { plain } from './terminal/text.ts';

const json = (): Option => new Option('--json', 'print JSON');
const files = (): Option =>
  new Option('-f, --file <path...>', 'files, or folders of them (default: tocsin.yaml here)');
const source = (): Option => new Option('--source <name>', 'the source of files that name none');
const output = (): Option => new Option('-o, --output <file>', 'write to this new file, not to stdout');
const secrets = (): Option =>
  new Option('--secrets', 'write the values of headers, and bodies, into the file');

const status = (): Option =>
  new Option('--status <status>', 'with this status').choices(MONITOR_STATUSES).argParser((text: string) => {
    const word = text.toUpperCase();
    if ((MONITOR_STATUSES as readonly string[]).includes(word)) return word;
    throw new InvalidArgumentError(`It must be one of ${MONITOR_STATUSES.join(', ')}.`);
  });

const EXAMPLES = `
Settings:
  TOCSIN_URL            where Tocsin is (http://localhost:3000)
  TOCSIN_API_KEY        an API key; TOCSIN_API_KEY_FILE: a file that holds it
  NO_COLOR              no colours

Exit codes: 0 done; 1 failed; 2 the answer is no: files and monitors differ, or a monitor is DOWN.

Examples:
  tocsin apply -f monitors/ --dry-run
  tocsin trigger shop-front --wait 120
  tocsin tail -f`;

/** The commands with their flags. @param onExit told how a command ends */
export function createProgram(terminal: Terminal, onExit: (code: ExitCode) => void): Command {
  const program = new Command('tocsin')
    .description('Monitors of Tocsin as code: apply files, see what differs, run checks, follow results.')
    .version(readVersion(), '--version', 'print the version')
    .option('--server <url>', 'where Tocsin is (TOCSIN_URL)')
    .option('--api-key-file <file>', 'a file that holds the API key (TOCSIN_API_KEY_FILE)')
    .addHelpText('after', EXAMPLES)
    .showHelpAfterError('(tocsin --help tells more)')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.print(text.trimEnd()),
      writeErr: (text) => terminal.note(text.trimEnd()),
    });
  const connect = async (): Promise<ApiClient> => {
    const settings = await readSettings(program.opts<ServerFlags>(), terminal);
    let told = '';
    return createApiClient({
      ...settings,
      signal: terminal.signal,
      onRetry: (reason, inSeconds) => {
        // An outage while results are followed would fill the screen.
        if (reason === told) return;
        told = reason;
        terminal.note(`${plain(reason)}; trying again${inSeconds > 0 ? ` in ${inSeconds} s` : ''} …`);
      },
    });
  };
  addSetCommands(program, terminal, connect, onExit);
  addFileCommands(program, terminal, connect, onExit);
  addLiveCommands(program, terminal, connect, onExit);
  return program;
}

/** Of `packages/cli` and of the published package alike: both have `package.json` beside the folder of this file. */
function readVersion(): string {
  const manifest = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return (JSON.parse(manifest) as { readonly version: string }).version;
}

type Connect = () => Promise<ApiClient>;
type OnExit = (code: ExitCode) => void;

function addSetCommands(program: Command, terminal: Terminal, connect: Connect, onExit: OnExit): void {
  program
    .command('apply')
    .description('make the monitors what files say')
    .addOption(files())
    .addOption(source())
    .option('--prune', 'delete monitors of the files’ sources that are in no file')
    .option('--dry-run', 'only say what would be done; exit code 2 if anything')
    .option('-y, --yes', 'do not ask')
    .addOption(json())
    .action(async (flags: ApplyFlags) => onExit(await apply(await connect(), terminal, flags)));
  program
    .command('diff')
    .description('say how files and monitors differ, as apply --dry-run does; exit code 2 if they do')
    .addOption(files())
    .addOption(source())
    .option('--prune', 'tell of monitors that are in no file, too')
    .addOption(json())
    .action(async (flags: ApplyFlags) =>
      onExit(await apply(await connect(), terminal, { ...flags, dryRun: true })),
    );
}

function addFileCommands(program: Command, terminal: Terminal, connect: Connect, onExit: OnExit): void {
  program
    .command('export')
    .description('write the monitors of a source as a file')
    .option('--source <name>', 'the source; not needed where there is one only')
    .option('--adopt', 'first give the monitors that have no source this one, and an externalId')
    .addOption(secrets())
    .addOption(output())
    .action(async (flags: ExportFlags) => onExit(await exportMonitors(await connect(), terminal, flags)));
  program
    .command('import')
    .description('write the monitors of another tool as a file, and say what could not be taken over')
    .addArgument(new Argument('<tool>', 'whose file it is').choices(TOOL_NAMES))
    .argument('<file>', 'the backup of Uptime Kuma 1.x (JSON; 2.0 has none), or Gatus’ configuration (YAML)')
    .option('--source <name>', 'the source that the file names (default: the tool)')
    .addOption(secrets())
    .addOption(output())
    .action(async (tool: Tool, file: string, flags: ImportFlags) =>
      onExit(await importMonitors(terminal, tool, file, flags)),
    );
}

function addLiveCommands(program: Command, terminal: Terminal, connect: Connect, onExit: OnExit): void {
  const monitor = 'an id, an externalId, or a name';
  program
    .command('monitors')
    .description('list the monitors')
    .option('--source <name>', 'of this source alone')
    .addOption(status())
    .addOption(json())
    .action(async (flags: ListFlags) => onExit(await listMonitors(await connect(), terminal, flags)));
  program
    .command('events')
    .description('print the history of a monitor')
    .argument('<monitor>', monitor)
    .addOption(count('-n, --limit <count>', 'how many events', 1, 50))
    .option('--since <timestamp>', 'the first ones after it, such as 2026-01-31T12:00:00Z')
    .addOption(json())
    .action(async (word: string, flags: EventsFlags) =>
      onExit(await listEvents(await connect(), terminal, word, flags)),
    );
  program
    .command('tail')
    .description('print the latest results, and with -f each new one')
    .argument('[monitor...]', `${monitor}; none: all`)
    .option('-f, --follow', 'go on until Ctrl-C')
    .addOption(count('-n, --limit <count>', 'how many to begin with', 0, 10))
    .option('--since <timestamp>', 'begin with all after it')
    .addOption(count('--every <seconds>', 'how often to ask', 1, 2))
    .option('--json', 'print a line of JSON for each')
    .action(async (words: string[], flags: TailFlags) =>
      onExit(await tail(await connect(), terminal, words, flags)),
    );
  program
    .command('trigger')
    .description('check monitors now; exit code 2 if one is DOWN')
    .argument('<monitor...>', monitor)
    .option('--url <url>', 'check this URL instead, once; moves no status')
    .addOption(count('--wait <seconds>', 'check again until it is UP, at most so long', 0))
    .addOption(json())
    .action(async (words: string[], flags: TriggerFlags) =>
      onExit(await trigger(await connect(), terminal, words, flags)),
    );
}

function count(flags: string, description: string, min: number, byDefault?: number): Option {
  const option = new Option(flags, description).argParser((text: string) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= 86_400) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${min} to 86400.`);
  });
  return byDefault === undefined ? option : option.default(byDefault);
}
