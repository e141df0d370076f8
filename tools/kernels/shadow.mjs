// `node tools/kernels/shadow.mjs <GGUF> …`: computes each product of a prompt twice, by the kernels and by the function that they
// replace, in Chromium, and prints the largest difference of each type of weights. Needs the compiler of compile.mjs.
import { mkdtempSync, readFileSync, rmSync, statSync, createReadStream } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

import { loadModule } from '../../scripts/lib/load-module.mjs';
import { compile } from './compiler.mjs';

const TYPES = { 2: 'Q4_0', 3: 'Q4_1', 6: 'Q5_0', 7: 'Q5_1', 8: 'Q8_0', 12: 'Q4_K', 13: 'Q5_K', 14: 'Q6_K' };
const PROMPT = 'The sea is wide, and the ships that cross it carry grain, iron, letters and people.';
const TOKENS = 4;

const { namesIn } = await loadModule('/src/node/engine-files/linker/function-names.ts');
const { linkObject } = await loadModule('/src/node/engine-files/linker/link-object.ts');
const { REPLACED } = await loadModule('/src/node/engine-files/linker/llama-abi.ts');
const { launch } = await loadModule('/test/support/launch.ts');

const library = 'node_modules/@wllama/wllama';
const folder = mkdtempSync(join(tmpdir(), 'localtext-shadow-'));
const object = join(folder, 'shadow.o');
compile('shadow.c', 64, object);
const packaged = readFileSync(`${library}/esm/wasm/wllama.wasm`);
const wasm = linkObject(packaged, namesIn(packaged), readFileSync(object), REPLACED);

const server = createServer(({ url }, answer) => {
  const send = (type, bytes, from) => {
    answer.writeHead(200, { 'content-type': type, 'content-length': bytes });
    if (typeof from === 'string') createReadStream(from).pipe(answer);
    else answer.end(from);
  };
  if (url === '/') send('text/html', 15, Buffer.from('<!doctype html>'));
  else if (url === '/wllama.js')
    send('text/javascript', statSync(`${library}/esm/index.js`).size, `${library}/esm/index.js`);
  else if (url === '/wllama.wasm') send('application/wasm', wasm.length, Buffer.from(wasm));
  else if (url?.startsWith('/gguf?')) {
    const path = decodeURIComponent(url.slice('/gguf?'.length));
    send('application/octet-stream', statSync(path).size, path);
  } else answer.writeHead(404).end();
}).listen(0, 'localhost');
await new Promise((done) => server.once('listening', done));

const context = await launch({ extraArgs: ['--disable-blink-features=WebGPU'] });
try {
  const page = await context.newPage();
  await page.goto(`http://localhost:${server.address().port}/`);
  for (const gguf of process.argv.slice(2)) {
    const lines = await page.evaluate(
      async ([url, prompt, tokens]) => {
        const { Wllama } = await import(new URL('/wllama.js', location.href).href);
        const seen = [];
        const keep = (...parts) => seen.push(parts.join(' '));
        const logger = { debug: keep, log: keep, warn: keep, error: keep };
        const wllama = new Wllama({ default: '/wllama.wasm' }, { logger, suppressNativeLog: false });
        const options = {
          n_ctx: 512,
          n_threads: 1,
          n_gpu_layers: 0,
          n_batch: 16,
          n_ubatch: 16,
          warmup: false,
        };
        const cache = { cache_type_k: 'q8_0', cache_type_v: 'q8_0', flash_attn: true };
        await wllama.loadModel([await (await fetch(url)).blob()], { ...options, ...cache });
        await wllama.createCompletion({ prompt, max_tokens: tokens, temperature: 0 });
        await wllama.exit();
        return seen.flatMap((line) => line.split('\n')).filter((line) => line.includes('shadow '));
      },
      [`/gguf?${encodeURIComponent(resolve(gguf))}`, PROMPT, TOKENS],
    );
    report(gguf, lines);
  }
} finally {
  await context.close();
  server.close();
  rmSync(folder, { recursive: true });
}

function report(gguf, lines) {
  const rows = new Map();
  for (const line of lines) {
    const [type, columns, difference, largest] = (/shadow (.*)/.exec(line)?.[1] ?? '').split(' ').map(Number);
    const name = `${TYPES[type] ?? type}, ${columns === 1 ? 'one column' : 'several columns'}`;
    const row = rows.get(name) ?? { products: 0, differ: 0, relative: 0 };
    row.products++;
    if (difference !== 0) row.differ++;
    row.relative = Math.max(row.relative, difference / largest || 0);
    rows.set(name, row);
  }
  console.log(`${gguf}: ${lines.length} products`);
  for (const [name, { products, differ, relative }] of rows)
    console.log(
      `  ${name}: ${products} products, ${differ} differ, by ${relative.toExponential(1)} of the largest result at most`,
    );
}
