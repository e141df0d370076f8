import { resolve } from 'node:path';

export default {
  mode: 'production',
  entry: './src/main.js',
  output: { path: resolve('public/built'), clean: true },
  // The engines are large, and load on first use.
  performance: { hints: false },
};
