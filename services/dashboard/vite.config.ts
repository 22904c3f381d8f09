import { fileURLToPath } from 'node:url';
import react from '@vitejs/plugin-react';
import { defaultClientConditions, defineConfig } from 'vite';

/** API that `npm start` runs. */
const API = process.env['API_URL'] ?? 'http://localhost:3000';

export default defineConfig({
  plugins: [react()],
  // Reads the contracts from source, so that nothing has to be built first.
  resolve: {
    conditions: ['tocsin-source', ...defaultClientConditions],
    alias: [
      { find: /^zod$/, replacement: fileURLToPath(new URL('src/app/zod-without-eval.ts', import.meta.url)) },
    ],
  },
  build: {
    target: 'es2022',
    // The first browsers with light-dark(). For older ones it would be compiled into styles that ignore the chosen color scheme.
    cssTarget: ['chrome123', 'edge123', 'firefox120', 'safari17.5'],
    manifest: true,
    sourcemap: true,
    chunkSizeWarningLimit: 800,
    rolldownOptions: {
      output: {
        // The first page needs nearly all of these, and one file compresses better than many.
        codeSplitting: {
          groups: [{ name: 'vendor', test: /node_modules.(react|react-dom|scheduler|@tanstack|zod)\// }],
        },
      },
    },
  },
  server: { proxy: { '/api': API, '/docs': API } },
});
