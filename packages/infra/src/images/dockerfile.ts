import { readRepositoryFile } from '../repository.ts';

/** What a container of one of our images runs. */
export interface Image {
  readonly env: Readonly<Record<string, string>>;
  /** Stands before the command; empty where there is none. */
  readonly entrypoint: readonly string[];
  readonly command: readonly string[];
  /** Null for one that is not asked for its health. */
  readonly healthCheck: readonly string[] | null;
}

const ROOT_STAGE = '${NODE_IMAGE}';

/** Reads a target of the Dockerfile, with the stages that it is made from. Knows the forms that stand there, and no more. */
export async function readImage(target: string): Promise<Image> {
  const stages = stagesOf(await readRepositoryFile('Dockerfile'));
  const lines: string[] = [];
  for (let stage = target; stage !== ROOT_STAGE;) {
    const found = stages.get(stage);
    if (found === undefined) throw new Error(`the Dockerfile has no stage ${stage}`);
    lines.unshift(...found.lines);
    stage = found.from;
  }
  const env: Record<string, string> = {};
  let entrypoint: readonly string[] = [];
  let command: readonly string[] = [];
  let healthCheck: readonly string[] | null = null;
  for (const line of lines) {
    for (const [, name = '', value = ''] of line.startsWith('ENV ') ? line.matchAll(/(\w+)=(\S+)/g) : []) {
      env[name] = value;
    }
    if (line.startsWith('ENTRYPOINT ')) entrypoint = listIn(line);
    if (line.startsWith('CMD ')) command = listIn(line);
    if (line.startsWith('HEALTHCHECK ')) healthCheck = line.includes('NONE') ? null : listIn(line);
  }
  return { env, entrypoint, command, healthCheck };
}

function stagesOf(text: string): Map<string, { from: string; lines: string[] }> {
  const stages = new Map<string, { from: string; lines: string[] }>();
  let lines: string[] = [];
  for (const line of text.replaceAll('\\\n', ' ').split('\n')) {
    const [, from, name] = /^FROM (\S+) AS (\S+)$/.exec(line) ?? [];
    if (from !== undefined && name !== undefined) stages.set(name, { from, lines: (lines = []) });
    else lines.push(line.trim());
  }
  return stages;
}

/** The JSON list at the end of a line. */
function listIn(line: string): string[] {
  return JSON.parse(line.slice(line.indexOf('["'))) as string[];
}
