import { encodeMessage, GraphBuilder } from '../../../tools/weights/graph-builder.ts';
import { bertGraph } from '../../../tools/weights/bert-graph.ts';
