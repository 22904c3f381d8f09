export default async function teardown() {
  await globalThis.tocsinTestServers?.stop();
}
