import { start } from 'localtext';
import { installLanguageModel } from 'localtext/language-model';

// The one line: it does nothing in a browser that has `LanguageModel`.
installLanguageModel(start({ isolation: ['./'] }), { model: 'amber-phoenix-4', maxTokens: 200 });
