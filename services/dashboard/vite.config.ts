import react from '@vitejs/plugin-react';
import { defaultClientConditions, defineConfig } from 'vite';

/** Where `npm start` has the api. */
const API = process.env['API_URL'] ?? 'http://localhost:3000';

export default defineConfig({
  plugins: [react()],
  // The contracts are read as source: nothing needs to be built before.
  resolve: { conditions: ['tocsin-source', ...defaultClientConditions] },
  build: { target: 'es2022', manifest: true, sourcemap: true, chunkSizeWarningLimit: 800 },
  server: { proxy: { '/api': API } },
});
