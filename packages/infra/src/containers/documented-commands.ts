import { readRepositoryFile } from '../repository.ts';

/**
 * Reads a block of commands of a document, as a reader copies them. Blocks with a language are none.
 * @param command that the block contains
 * @throws Error where no block does
 */
export async function readCommands(document: string, command: string): Promise<string> {
  const blocks = (await readRepositoryFile(document)).matchAll(/^```(\w*)\n(.*?)^```$/gms);
  for (const [, language, text = ''] of blocks) if (language === '' && text.includes(command)) return text;
  throw new Error(`${document} has no block with \`${command}\``);
}
