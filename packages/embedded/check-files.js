/* Rejects large tracked files, and binary ones outside the folders for images and fonts. */
import { execFileSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fail, ROOT } from './build.js';

const MAX_BYTES = 500_000;
const BINARY_FOLDERS = ['docs/images/', 'services/dashboard/public/fonts/'];
/** Like git, treats a file with a NUL byte near its start as binary. */
const SAMPLE_BYTES = 8_000;

const problems = execFileSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8' })
  .split('\0')
  .filter((path) => path !== '')
  .flatMap((path) => {
    const stats = statSync(join(ROOT, path), { throwIfNoEntry: false });
    if (!stats?.isFile()) return [];
    if (stats.size > MAX_BYTES) return [`${path} has ${stats.size} bytes, more than ${MAX_BYTES}`];
    const isAllowed = BINARY_FOLDERS.some((folder) => path.startsWith(folder));
    const isBinary = readFileSync(join(ROOT, path)).subarray(0, SAMPLE_BYTES).includes(0);
    return isBinary && !isAllowed ? [`${path} is binary, outside ${BINARY_FOLDERS.join(', ')}`] : [];
  });
if (problems.length > 0) fail(`Remove these files with \`git rm --cached\`:\n${problems.join('\n')}`);
