import { readFileSync, readdirSync } from 'node:fs';

/** Linux counts CPU time in ticks of this length (`USER_HZ`), on every machine. */
const TICK_MS = 10;

/** One line of `/proc/<pid>/stat`. */
export interface ProcStat {
  readonly pid: number;
  readonly parent: number;
  /** User and system time of the process, and of its children that have ended and were waited for. */
  readonly cpuMs: number;
}

/** The usage of a program: a process with all its descendants. */
export interface Usage {
  readonly cpuMs: number;
  /** Resident; memory that several of its processes share counts once. */
  readonly rssBytes: number;
}

export function parseProcStat(line: string): ProcStat {
  // The name is in parentheses and may contain any character, also a parenthesis.
  const [state, parent, ...rest] = line.slice(line.lastIndexOf(')') + 2).split(' ');
  if (state === undefined) throw new TypeError(`not a line of /proc/<pid>/stat: ${line}`);
  const ticks = rest.slice(9, 13).reduce((sum, field) => sum + Number(field), 0);
  return { pid: Number.parseInt(line, 10), parent: Number(parent), cpuMs: ticks * TICK_MS };
}

/** A size in bytes of a line like `VmRSS:   12345 kB`; null without such a line. */
export function parseProcSize(text: string, name: string): number | null {
  const match = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text);
  return match ? Number(match[1]) * 1024 : null;
}

/** The usage of several programs, each given by the id of its first process. */
export function readUsage<Name extends string>(programs: ReadonlyMap<Name, number>): Map<Name, Usage> {
  return new Map([...readTrees(programs)].map(([name, tree]) => [name, usageOf(tree)]));
}

/** The resources of a program: a process with all its descendants. */
export interface Holdings {
  /** Memory that is neither shared nor from files, such as heaps and stacks. */
  readonly privateBytes: number;
  /** Open file descriptors. */
  readonly descriptors: number;
}

/** The resources of several programs, each given by the id of its first process. */
export function readHoldings<Name extends string>(programs: ReadonlyMap<Name, number>): Map<Name, Holdings> {
  return new Map([...readTrees(programs)].map(([name, tree]) => [name, holdingsOf(tree)]));
}

function holdingsOf(tree: readonly ProcStat[]): Holdings {
  return {
    privateBytes: sum(
      tree.map(({ pid }) => parseProcSize(readProc(String(pid), 'status') ?? '', 'RssAnon') ?? 0),
    ),
    descriptors: sum(tree.map(({ pid }) => countDescriptors(pid))),
  };
}

function countDescriptors(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return 0;
  }
}

/** Each program's processes, the first one first. */
function readTrees<Name extends string>(programs: ReadonlyMap<Name, number>): Map<Name, ProcStat[]> {
  const children = new Map<number, ProcStat[]>();
  const all = new Map<number, ProcStat>();
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    const text = readProc(entry, 'stat');
    if (text === null) continue;
    const stat = parseProcStat(text);
    all.set(stat.pid, stat);
    const siblings = children.get(stat.parent);
    if (siblings) siblings.push(stat);
    else children.set(stat.parent, [stat]);
  }
  return new Map([...programs].map(([name, pid]) => [name, treeOf(pid, all, children)]));
}

function treeOf(
  pid: number,
  all: ReadonlyMap<number, ProcStat>,
  children: ReadonlyMap<number, ProcStat[]>,
): ProcStat[] {
  const first = all.get(pid);
  const tree = first ? [first] : [];
  // Grows while it is walked.
  for (const { pid } of tree) tree.push(...(children.get(pid) ?? []));
  return tree;
}

function usageOf(tree: readonly ProcStat[]): Usage {
  const [only] = tree;
  const rssBytes =
    tree.length === 1 && only ? residentBytes(only.pid) : sum(tree.map(({ pid }) => ownBytes(pid)));
  return { cpuMs: sum(tree.map(({ cpuMs }) => cpuMs)), rssBytes };
}

/** With its share of the memory that it shares with others, or with all of it if the system does not know the share. */
function ownBytes(pid: number): number {
  const text = readProc(String(pid), 'smaps_rollup');
  return (text === null ? null : parseProcSize(text, 'Pss')) ?? residentBytes(pid);
}

function residentBytes(pid: number): number {
  return parseProcSize(readProc(String(pid), 'status') ?? '', 'VmRSS') ?? 0;
}

/** Null for a process that has ended, or that we may not read. */
function readProc(pid: string, file: string): string | null {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return null;
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
