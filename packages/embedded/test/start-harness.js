/* `npm start` without installing and building; run by `src/start/main.slow.test.ts` and `src/start/start.slow.test.ts`. */
import { main } from '../dist/start/main.js';

await main([]);
