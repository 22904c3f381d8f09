/** What of V8's CPU profile (`.cpuprofile`) is used here. Times in µs on the machine's monotonic clock. */
export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly children?: readonly number[];
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  }[];
  readonly startTime: number;
  readonly samples: readonly number[];
  /** Before each sample, since the one before. */
  readonly timeDeltas: readonly number[];
}

/** The share of the sampled time in one function or package, without its calls. */
export interface SelfTime {
  readonly name: string;
  readonly share: number;
}

type CallFrame = CpuProfile['nodes'][number]['callFrame'];

/**
 * Where the busy time of a span went, the most first.
 * @param span on the profile's clock, µs
 * @param by names the function or package, given the frame and its callers, innermost first
 */
export function selfTimes(
  profiles: readonly CpuProfile[],
  span: { readonly from: number; readonly to: number },
  by: (stack: readonly CallFrame[]) => string,
): SelfTime[] {
  const micros = new Map<string, number>();
  for (const profile of profiles) {
    for (const [name, time] of timesOf(profile, span, by)) micros.set(name, (micros.get(name) ?? 0) + time);
  }
  const total = [...micros.values()].reduce((sum, value) => sum + value, 0);
  return [...micros]
    .map(([name, value]) => ({ name, share: value / total }))
    .sort((a, b) => b.share - a.share);
}

function timesOf(
  { nodes, startTime, samples, timeDeltas }: CpuProfile,
  span: { readonly from: number; readonly to: number },
  by: (stack: readonly CallFrame[]) => string,
): Map<string, number> {
  const perNode = new Map<number, number>();
  let time = startTime;
  samples.forEach((id, index) => {
    time += timeDeltas[index] ?? 0;
    if (time < span.from || time > span.to) return;
    // A sample stands for the time until the next one.
    perNode.set(id, (perNode.get(id) ?? 0) + (timeDeltas[index + 1] ?? 0));
  });
  const frames = new Map(nodes.map((node) => [node.id, node.callFrame]));
  const parents = new Map(nodes.flatMap((node) => (node.children ?? []).map((child) => [child, node.id])));
  const times = new Map<string, number>();
  for (const [id, micros] of perNode) {
    const stack: CallFrame[] = [];
    for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) {
      const frame = frames.get(at);
      if (frame) stack.push(frame);
    }
    if (stack.length === 0 || stack[0]?.functionName === '(idle)') continue;
    const name = by(stack);
    times.set(name, (times.get(name) ?? 0) + micros);
  }
  return times;
}

/** The package that causes a frame: its own, or, within Node, the nearest caller's. */
export function responsiblePackage(stack: readonly CallFrame[]): string {
  const own = stack[0] === undefined ? '' : packageOf(stack[0]);
  if (!own.startsWith('node:') && own !== '(native)') return own;
  const caller = stack.map(packageOf).find((name) => !/^(node:|\()/.test(name));
  return caller ?? '(events of Node)';
}

/** The npm package, workspace or part of Node that a file belongs to. */
export function packageOf({ url, functionName }: CallFrame): string {
  if (url === '') return functionName.startsWith('(') ? functionName : '(native)';
  if (url.startsWith('node:')) return url;
  const installed = [...url.matchAll(/node_modules\/((?:@[^/]+\/)?[^/]+)\//g)].at(-1)?.[1];
  if (installed !== undefined && installed !== '.pnpm') return installed;
  return /\/((?:packages|services)\/[^/]+)\//.exec(url)?.[1] ?? url;
}
