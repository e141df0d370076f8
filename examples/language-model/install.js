import { start } from 'localtext';
import { installLanguageModel } from 'localtext/language-model';
import { createStore, showUpdate } from 'localtext/store';

const localtext = start({ isolation: ['./'] });
// The one line: it does nothing in a browser that has `LanguageModel`.
installLanguageModel(localtext, { model: 'amber-phoenix-4', maxTokens: 200 });
showUpdate(
  createStore(() => localtext),
  document.querySelector('.update'),
);
