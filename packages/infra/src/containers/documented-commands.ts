import { readRepositoryFile } from '../repository.ts';

/**
 * Reads a block of commands of a document, as a reader copies them.
 * @param command that the block contains @throws Error where no block does
 */
export async function readCommands(document: string, command: string): Promise<string> {
  const blocks = (await readRepositoryFile(document)).matchAll(/^```\n(.*?)^```$/gms);
  for (const [, text = ''] of blocks) if (text.includes(command)) return text;
  throw new Error(`${document} has no block with \`${command}\``);
}
