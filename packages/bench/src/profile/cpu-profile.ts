import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';

const FUNCTIONS = 30;
const PACKAGES = 20;

/** The fields of V8's CPU profile (`.cpuprofile`) that are used here. Times in µs on the machine's monotonic clock. */
interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly children?: readonly number[];
    readonly callFrame: CallFrame;
  }[];
  readonly startTime: number;
  readonly samples: readonly number[];
  /** From the previous sample to each sample. */
  readonly timeDeltas: readonly number[];
}

interface CallFrame {
  readonly functionName: string;
  readonly url: string;
  readonly lineNumber: number;
}

/** The share of the sampled time in one function or package, without the functions that it calls. */
interface SelfTime {
  readonly name: string;
  readonly share: number;
}

/**
 * The top of the profiles in a folder, as lines: by package, then by function.
 * @param clock the span to look at, nanoseconds on the monotonic clock
 */
export async function profileTop(folder: string, clock: { from: bigint; to: bigint }): Promise<string[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.cpuprofile'));
  const profiles = await Promise.all(
    files.map(async (file) => JSON.parse(await readFile(join(folder, file), 'utf8')) as CpuProfile),
  );
  const span = { from: Number(clock.from / 1_000n), to: Number(clock.to / 1_000n) };
  const byPackage = selfTimes(profiles, span, responsiblePackage);
  const byFunction = selfTimes(profiles, span, ([frame]) => {
    if (frame === undefined) return '(unknown)';
    const file = frame.url.split('/').slice(-2).join('/');
    return `${frame.functionName || '(anonymous)'} ${packageOf(frame)} ${file}:${frame.lineNumber + 1}`;
  });
  return [
    'Time by package, including its calls into Node.js:',
    ...linesOf(byPackage, PACKAGES),
    'Self time by function:',
    ...linesOf(byFunction, FUNCTIONS),
  ];
}

function linesOf(times: readonly SelfTime[], count: number): string[] {
  return times
    .slice(0, count)
    .map(({ name, share }) => `  ${(share * 100).toFixed(1).padStart(5)} %  ${name}`);
}

/**
 * Where the busy time of a span went, largest share first.
 * @param span on the profile's clock, µs
 * @param by names the function or package, given the frame and its callers, innermost first
 */
function selfTimes(
  profiles: readonly CpuProfile[],
  span: { readonly from: number; readonly to: number },
  by: (stack: readonly CallFrame[]) => string,
): SelfTime[] {
  const micros = new Map<string, number>();
  let total = 0;
  for (const { nodes, startTime, samples, timeDeltas } of profiles) {
    const stacks = stacksOf(nodes);
    let time = startTime;
    for (const [index, id] of samples.entries()) {
      time += timeDeltas[index] ?? 0;
      const stack = stacks(id);
      if (time < span.from || time > span.to || stack[0]?.functionName === '(idle)') continue;
      // A sample stands for the time until the next one.
      const duration = timeDeltas[index + 1] ?? 0;
      const name = by(stack);
      micros.set(name, (micros.get(name) ?? 0) + duration);
      total += duration;
    }
  }
  return [...micros]
    .map(([name, value]) => ({ name, share: value / total }))
    .toSorted((a, b) => b.share - a.share);
}

/** Returns a function that reads the frame of a node and its callers, innermost first. */
function stacksOf(nodes: CpuProfile['nodes']): (id: number) => readonly CallFrame[] {
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])));
  const known = new Map<number, readonly CallFrame[]>();
  const stackOf = (id: number): readonly CallFrame[] => {
    let stack = known.get(id);
    if (stack === undefined) {
      const [frame, parent] = [frames.get(id), parents.get(id)];
      stack = [...(frame ? [frame] : []), ...(parent === undefined ? [] : stackOf(parent))];
      known.set(id, stack);
    }
    return stack;
  };
  return stackOf;
}

/** The package that causes a frame: its own, or, within Node, the nearest caller's. */
function responsiblePackage(stack: readonly CallFrame[]): string {
  const own = stack[0] === undefined ? '' : packageOf(stack[0]);
  if (!own.startsWith('node:') && own !== '(native)') return own;
  const caller = stack.map(packageOf).find((name) => !/^(node:|\()/.test(name));
  return caller ?? '(events of Node)';
}

/** The npm package, workspace or part of Node that a file belongs to. */
function packageOf({ url, functionName }: CallFrame): string {
  if (url === '') return functionName.startsWith('(') ? functionName : '(native)';
  if (url.startsWith('node:')) return url;
  const installed = [...url.matchAll(/node_modules\/((?:@[^/]+\/)?[^/]+)\//g)].at(-1)?.[1];
  if (installed !== undefined && installed !== '.pnpm') return installed;
  return /\/((?:packages|services)\/[^/]+)\//.exec(url)?.[1] ?? url;
}
