/* Starts a server and sends its address. `src/*.slow.test.ts` kill it to leave the server without a parent. */
const [kind, dataDir] = process.argv.slice(2);
const server =
  kind === 'postgres'
    ? await (await import('../dist/postgres.js')).startPostgres({ dataDir, durable: false })
    : await (await import('../dist/redis.js')).startRedis({ dataDir, appendOnly: true });
process.send({ url: server.url, pid: server.pid });
