import { start } from '../../../src/index.ts';
import { installLanguageModel } from '../../../src/language-model/index.ts';
import { pageOptions } from './page-options.ts';

const given = new URLSearchParams(location.search);

// Chromium has its own class, without a model.
installLanguageModel(start(pageOptions()), {
  model: given.get('model') ?? 'amber-phoenix-4',
  maxTokens: Number(given.get('maxTokens') ?? 64),
  replace: true,
});
