import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { packageOf, responsiblePackage, selfTimes, type CpuProfile, type SelfTime } from './cpu-profile.ts';

const FUNCTIONS = 30;
const PACKAGES = 20;

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
    'Time by package, including its calls of Node:',
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
