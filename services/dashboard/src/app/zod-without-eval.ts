import { config } from 'zod/v4';

// Schemas would be compiled into functions, which the Content-Security-Policy forbids.
config({ jitless: true });

// Stands for `zod` in the whole bundle (vite.config.ts), so that no schema is made before.
export * from 'zod/v4';
