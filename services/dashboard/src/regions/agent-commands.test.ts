import { expect, test } from '@jest/globals';
import { agentCommands } from './agent-commands.ts';

test('every command names the token and the URL of this installation', () => {
  const commands = Object.entries(agentCommands('https://tocsin.example.com', 'tocsin_agent_1'));
  expect(commands).toHaveLength(3);
  // No registry has the image.
  expect(commands[0]?.[1]).toMatch(/^docker build --target agent --tag (\S+) \.\ndocker run [^]* \1$/);
  for (const [, command] of commands) {
    expect(command).toMatch(/AGENT_TOKEN=tocsin_agent_1\b/);
    expect(command).toMatch(/(?:TOCSIN_URL|agent\.url)=https:\/\/tocsin\.example\.com/);
  }
});
