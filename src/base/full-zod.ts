import { config } from 'zod';

// Compiled checks need `new Function`, which a strict Content-Security-Policy refuses: see zod.ts.
config({ jitless: true });

export { z } from 'zod';
