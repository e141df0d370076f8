import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { DirectChatTransport, ToolLoopAgent } from 'ai';
import { ModelLoad, UpdateNotice, useLocaltext, useModel } from 'localtext/react';
import { useEffect, useState } from 'react';

import { Chat } from './chat.jsx';

const MODEL = 'amber-phoenix-4';

export function App() {
  const { localtext } = useLocaltext();
  const { state } = useModel(MODEL);
  const [transport, setTransport] = useState(null);

  useEffect(() => {
    if (localtext) void connect(localtext).then(setTransport);
  }, [localtext]);

  return (
    <main>
      <h1>localtext with React and the AI SDK</h1>
      <UpdateNotice className="update" />
      <ModelLoad model={MODEL} className="model" />
      {transport && <Chat transport={transport} ready={state === 'ready'} />}
    </main>
  );
}

async function connect({ baseURL, fetch, keys }) {
  // A key names the application. This one is the same after a reload and in every tab.
  const { key } = await keys.ensure({ label: 'react-ai-sdk example' });
  const provider = createOpenAICompatible({ name: 'localtext', baseURL, fetch, apiKey: key });
  // The AI SDK usually runs on a server. Here, the agent runs in the page.
  const agent = new ToolLoopAgent({
    model: provider(MODEL),
    instructions: 'You are a helpful assistant. Answer in one short English sentence.',
    // Its model card's. Greedy replies repeat themselves.
    temperature: 0.2,
    maxOutputTokens: 100,
    // The AI SDK retries twice by default, even errors that would recur.
    maxRetries: 1,
  });
  return new DirectChatTransport({ agent });
}
