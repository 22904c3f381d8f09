import { fileURLToPath } from 'node:url';
import react from '@vitejs/plugin-react';
import { defaultClientConditions, defineConfig } from 'vite';

/** Where `npm start` has the api. */
const API = process.env['API_URL'] ?? 'http://localhost:3000';

export default defineConfig({
  plugins: [react()],
  // The contracts are read as source: nothing needs to be built before.
  resolve: {
    conditions: ['tocsin-source', ...defaultClientConditions],
    alias: [
      { find: /^zod$/, replacement: fileURLToPath(new URL('src/app/zod-without-eval.ts', import.meta.url)) },
    ],
  },
  build: {
    target: 'es2022',
    // The first that know light-dark(), which would otherwise be rewritten for a colour scheme that is set in another way.
    cssTarget: ['chrome123', 'edge123', 'firefox120', 'safari17.5'],
    manifest: true,
    sourcemap: true,
    chunkSizeWarningLimit: 800,
  },
  server: { proxy: { '/api': API } },
});
