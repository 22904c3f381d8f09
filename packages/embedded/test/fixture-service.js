/* The service of `src/start/service.test.ts`. FIXTURE selects its behavior. */
const behavior = process.env.FIXTURE;
if (behavior === 'fails') {
  process.stderr.write('PORT must be right\n');
  process.exit(1);
}
process.stdout.write(`${JSON.stringify({ level: 'info', message: `process ${process.pid}` })}\n`);
process.stdout.write(`${JSON.stringify({ level: 'info', message: `folder ${process.cwd()}` })}\n`);
process.send({ type: 'ready' });
process.on('SIGTERM', () => process.exit(0));
process.on('disconnect', () => process.exit(0));
setInterval(() => {}, 1000);
