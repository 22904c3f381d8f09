import { readFileSync, readdirSync, writeFileSync } from 'node:fs';

/** Linux counts CPU time in ticks of this length (`USER_HZ`), on every machine. */
const TICK_MS = 10;

interface ProcStat {
  readonly pid: number;
  readonly parent: number;
  /** User and system time of the process and its reaped children. */
  readonly cpuMs: number;
}

/** Resource usage of a program, which is a process with all its descendants. */
interface Usage {
  readonly cpuMs: number;
  /** Resident memory. Memory that several processes of the program share counts once. */
  readonly rssBytes: number;
  /** Memory that is neither shared nor file-backed. */
  readonly privateBytes: number;
  /** Open file descriptors. */
  readonly descriptors: number;
}

/** Usage by the name of the program. */
export type Usages = ReadonlyMap<string, Usage>;

/** Reads the usage of several programs. @param programs the id of the first process of each */
export function readUsage(programs: ReadonlyMap<string, number>): Usages {
  const texts = readdirSync('/proc').map((pid) => (/^\d+$/.test(pid) ? readProc(pid, 'stat') : null));
  const all = texts.flatMap((text) => (text === null ? [] : [parseProcStat(text)]));
  const children = new Map<number, ProcStat[]>();
  for (const stat of all) children.set(stat.parent, [...(children.get(stat.parent) ?? []), stat]);
  const usages = [...programs].map(([name, pid]) => {
    const tree = all.filter((stat) => stat.pid === pid);
    // The loop also visits the descendants that it appends.
    for (const stat of tree) tree.push(...(children.get(stat.pid) ?? []));
    return [name, usageOf(tree)] as const;
  });
  return new Map(usages);
}

/** @param tree the processes of a program, none if it has ended */
function usageOf(tree: readonly ProcStat[]): Usage {
  return {
    cpuMs: sum(tree, ({ cpuMs }) => cpuMs),
    // Processes of a tree share memory. Some systems do not report the proportional share of each.
    rssBytes: sum(
      tree,
      ({ pid }) =>
        (tree.length > 1 ? readSize(pid, 'smaps_rollup', 'Pss') : null) ??
        readSize(pid, 'status', 'VmRSS') ??
        0,
    ),
    privateBytes: sum(tree, ({ pid }) => readSize(pid, 'status', 'RssAnon') ?? 0),
    descriptors: sum(tree, ({ pid }) => attempt(() => readdirSync(`/proc/${pid}/fd`).length) ?? 0),
  };
}

/** Resets the peak of a process's resident memory. */
export function resetPeakMemory(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}

/** Returns the peak of a process's resident memory since `resetPeakMemory`, in bytes. */
export function readPeakMemory(pid: number): number {
  return readSize(pid, 'status', 'VmHWM') ?? Number.NaN;
}

function parseProcStat(line: string): ProcStat {
  // The name is in parentheses and may contain any character, also a parenthesis.
  const [state, parent, ...rest] = line.slice(line.lastIndexOf(')') + 2).split(' ');
  if (state === undefined) throw new TypeError(`not a line of /proc/<pid>/stat: ${line}`);
  const ticks = sum(rest.slice(9, 13), Number);
  return { pid: Number.parseInt(line, 10), parent: Number(parent), cpuMs: ticks * TICK_MS };
}

/** Reads a size in bytes from a line such as `VmRSS:   12345 kB`. Returns null without such a line. */
function readSize(pid: number, file: string, name: string): number | null {
  const match = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(readProc(pid, file) ?? '');
  return match ? Number(match[1]) * 1024 : null;
}

/** Returns null for a process that has ended, or that we may not read. */
function readProc(pid: number | string, file: string): string | null {
  return attempt(() => readFileSync(`/proc/${pid}/${file}`, 'utf8'));
}

function attempt<Result>(read: () => Result): Result | null {
  try {
    return read();
  } catch {
    return null;
  }
}

function sum<Item>(items: readonly Item[], valueOf: (item: Item) => number): number {
  return items.reduce((total, item) => total + valueOf(item), 0);
}
