import { start } from 'localtext';
import { installLanguageModel } from 'localtext/language-model';
import { createStore, showUpdate } from 'localtext/store';

const localtext = start({ isolation: ['./'] });
// A browser's own class stays, unless its model cannot run here.
const replace = 'LanguageModel' in globalThis && (await LanguageModel.availability()) === 'unavailable';
installLanguageModel(localtext, { model: 'amber-phoenix-4', maxTokens: 200, replace });
showUpdate(
  createStore(() => localtext),
  document.querySelector('.update'),
);
// Runs once the class is there.
await import('./page.js');
