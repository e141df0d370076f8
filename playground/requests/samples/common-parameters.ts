/** Parameters of a chat that every library has different words for, or sets itself. */
export const COMMON_PARAMETERS = [
  'model',
  'messages',
  'stream',
  'stream_options',
  'temperature',
  'top_p',
  'max_tokens',
  'max_completion_tokens',
  'stop',
  'presence_penalty',
  'frequency_penalty',
  'tools',
  'tool_choice',
];
