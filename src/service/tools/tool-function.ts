/** Maximum number of tools of a request: OpenAI's own limit. */
export const MAX_TOOLS = 128;

/** A tool as its client knows it. A custom tool takes one text. */
export interface ToolName {
  kind: 'function' | 'custom';
  name: string;
  namespace?: string;
}

/** The name by which the model calls a tool. */
export const calledName = ({ namespace, name }: Omit<ToolName, 'kind'>): string =>
  namespace === undefined ? name : `${namespace}.${name}`;

/** A function that the model may call. */
export interface ToolFunction {
  tool: ToolName;
  /** `calledName` of the tool. */
  name: string;
  description: string | null;
  /** JSON Schema of its arguments. */
  parameters: Record<string, unknown>;
  /** Place of the schema in the request; for a custom tool, of the pattern of its text. */
  param: string;
  /** Whether a schema that cannot be enforced is an error. */
  strict: boolean;
}

/** Name of the text in the arguments of a custom tool. */
export const CUSTOM_INPUT = 'input';
