import { start } from 'localtext';
import { LocaltextProvider } from 'localtext/react';
import { createStore } from 'localtext/store';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';

import { App } from './app.jsx';

const store = createStore(() => start());

createRoot(document.querySelector('#root')).render(
  <StrictMode>
    <LocaltextProvider store={store}>
      <App />
    </LocaltextProvider>
  </StrictMode>,
);
