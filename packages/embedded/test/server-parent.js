/* Starts a server and tells its address; is killed by `src/*.test.ts`, so that the server is left behind. */
const [kind, dataDir] = process.argv.slice(2);
const server =
  kind === 'postgres'
    ? await (await import('../dist/postgres.js')).startPostgres({ dataDir, durable: false })
    : await (await import('../dist/redis.js')).startRedis({ dataDir, appendOnly: true });
process.send({ url: server.url, pid: server.pid });
