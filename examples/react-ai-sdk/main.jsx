import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { DirectChatTransport, ToolLoopAgent } from 'ai';
import { start } from 'localtext';
import { createRoot } from 'react-dom/client';

import { Chat } from './chat.jsx';

const localtext = await start();
// A key names the application. This one is the same after a reload and in every tab.
const { key } = await localtext.keys.ensure({ label: 'react-ai-sdk example' });

const provider = createOpenAICompatible({
  name: 'localtext',
  baseURL: localtext.baseURL,
  apiKey: key,
});
// The AI SDK usually runs on a server; here there is none, and the agent runs in the page.
const agent = new ToolLoopAgent({
  model: provider('amber-phoenix-4'),
  instructions: 'You are a helpful assistant.',
  temperature: 0,
  maxOutputTokens: 100,
});

createRoot(document.querySelector('#root')).render(<Chat transport={new DirectChatTransport({ agent })} />);
