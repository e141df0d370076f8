import { start } from '../../../src/index.ts';
import { installLanguageModel } from '../../../src/language-model/index.ts';
import { pageOptions } from './page-options.ts';

const maxTokens = Number(new URLSearchParams(location.search).get('maxTokens') ?? 64);

// Chromium has a class of its own, without a model.
installLanguageModel(start(pageOptions()), { model: 'amber-phoenix-4', maxTokens, replace: true });
