interface ToolCall {
  id: string;
  function: { name: string; arguments: string };
}

interface Message {
  role: string;
  content?: unknown;
  tool_calls?: ToolCall[];
  tool_call_id?: string;
}

/** The AI SDK has other names for tool calls and their results; all other messages are the same. */
export function aiMessages(messages: unknown): unknown {
  if (!Array.isArray(messages)) return messages;
  const names = new Map<string, string>();
  return (messages as Message[]).map((message) => {
    const { role, content, tool_calls: calls, tool_call_id: id } = message;
    if (role === 'tool' && id !== undefined) {
      const output = { type: 'text', value: content };
      return {
        role,
        content: [{ type: 'tool-result', toolCallId: id, toolName: names.get(id) ?? '', output }],
      };
    }
    if (!calls) return message;
    for (const call of calls) names.set(call.id, call.function.name);
    const text = typeof content === 'string' && content !== '' ? [{ type: 'text', text: content }] : [];
    return { role, content: [...text, ...calls.map(callPart)] };
  });
}

const callPart = ({ id, function: { name, arguments: input } }: ToolCall): object => ({
  type: 'tool-call',
  toolCallId: id,
  toolName: name,
  input: parsed(input),
});

/** The JSON may be truncated. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
