/* `npm start` without installing and building. `src/start/main.slow.test.ts` and `src/start/start.slow.test.ts` run it. */
import { main } from '../dist/start/main.js';

await main([]);
