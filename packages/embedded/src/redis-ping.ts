import { createConnection } from 'node:net';

const TIMEOUT_MS = 2000;

/** Whether a Redis on 127.0.0.1 takes this password and is ready for commands (not while it still loads its data). */
export async function pingRedis(port: number, password: string): Promise<boolean> {
  return new Promise((resolve) => {
    let answer = '';
    const socket = createConnection({ host: '127.0.0.1', port, timeout: TIMEOUT_MS });
    const finish = (ready: boolean): void => {
      socket.destroy();
      resolve(ready);
    };
    socket.on('connect', () => socket.write(`AUTH ${password}\r\nPING\r\n`));
    socket.on('data', (chunk) => {
      answer += chunk.toString('latin1');
      const lines = answer.split('\r\n').slice(0, -1);
      if (lines.length >= 2) finish(lines[0] === '+OK' && lines[1] === '+PONG');
      else if (lines[0]?.startsWith('-') === true) finish(false);
    });
    socket.on('timeout', () => finish(false));
    socket.on('error', () => finish(false));
    socket.on('close', () => finish(false));
  });
}
