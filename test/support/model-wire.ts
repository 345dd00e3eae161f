// The wire forms a scripted model speaks: OpenAI chat completions and responses, Anthropic messages, Google
// generateContent; each as one JSON document and as server-sent events. Only the fields clients read are sent.
//
// @source the providers' public API references; field names are theirs.

import type { ReplyStep, ScriptedUsage } from "./model-steps.ts";

export type Dialect = "chat" | "responses" | "anthropic" | "google";

/** One server-sent event; content waits at the gate, the frame around it does not. */
export interface Frame {
  event?: string;
  data: unknown;
  isContent: boolean;
}

/** An answer in one dialect. `withUsage`: chat streams tell usage only when asked. */
export interface Wire {
  whole(answer: Answer): unknown;
  frames(answer: Answer, withUsage: boolean): Frame[];
}

/** A step, made plain. */
export interface Answer {
  id: string;
  model: string;
  text: readonly string[];
  reasoning: readonly string[];
  signature: string | undefined;
  calls: readonly { id: string; name: string; arguments: string }[];
  usage: Required<ScriptedUsage> | undefined;
  finish: "stop" | "length" | "filter" | "calls";
}

const list = (text: string | readonly string[] | undefined): readonly string[] =>
  text === undefined ? [] : typeof text === "string" ? [text] : text;

export function answerOf(step: ReplyStep, request: { number: number; model: string }): Answer {
  const calls = (step.toolCalls ?? []).map((call, index) => ({
    id: call.id ?? `call-${request.number}-${index + 1}`,
    name: call.name,
    arguments: typeof call.arguments === "string" ? call.arguments : JSON.stringify(call.arguments),
  }));
  return {
    id: `reply-${request.number}`,
    model: request.model,
    text: list(step.text),
    reasoning: list(step.reasoning),
    signature: step.signature,
    calls,
    usage:
      step.usage === null
        ? undefined
        : { cached: 0, reasoning: 0, ...(step.usage ?? { input: 10, output: 5 }) },
    finish: step.finish ?? (calls.length > 0 ? "calls" : "stop"),
  };
}

const content = (data: unknown, event?: string): Frame => ({
  data,
  isContent: true,
  ...(event ? { event } : {}),
});
const frame = (data: unknown, event?: string): Frame => ({
  data,
  isContent: false,
  ...(event ? { event } : {}),
});

/** Arguments as an object, for forms that cannot carry broken JSON. */
function objectOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

const chatFinish = { stop: "stop", length: "length", filter: "content_filter", calls: "tool_calls" } as const;

const chatUsage = (usage: Required<ScriptedUsage>) => ({
  prompt_tokens: usage.input,
  completion_tokens: usage.output,
  total_tokens: usage.input + usage.output,
  prompt_tokens_details: { cached_tokens: usage.cached },
  completion_tokens_details: { reasoning_tokens: usage.reasoning },
});

const chatCall = (call: Answer["calls"][number], index?: number) => ({
  ...(index === undefined ? {} : { index }),
  id: call.id,
  type: "function",
  function: { name: call.name, arguments: call.arguments },
});

const chat: Wire = {
  whole: (answer) => ({
    id: answer.id,
    object: "chat.completion",
    created: 1,
    model: answer.model,
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: answer.text.length > 0 ? answer.text.join("") : null,
          ...(answer.reasoning.length > 0 ? { reasoning_content: answer.reasoning.join("") } : {}),
          ...(answer.calls.length > 0 ? { tool_calls: answer.calls.map((call) => chatCall(call)) } : {}),
        },
        finish_reason: chatFinish[answer.finish],
      },
    ],
    ...(answer.usage ? { usage: chatUsage(answer.usage) } : {}),
  }),
  frames(answer, withUsage) {
    const head = { id: answer.id, object: "chat.completion.chunk", created: 1, model: answer.model };
    const piece = (delta: unknown, finish_reason: string | null = null) => ({
      ...head,
      choices: [{ index: 0, delta, finish_reason }],
    });
    return [
      frame(piece({ role: "assistant" })),
      ...answer.reasoning.map((text) => content(piece({ reasoning_content: text }))),
      ...answer.text.map((text) => content(piece({ content: text }))),
      ...answer.calls.flatMap((call, index) => {
        const half = Math.ceil(call.arguments.length / 2);
        const rest = { index, function: { arguments: call.arguments.slice(half) } };
        const first = chatCall({ ...call, arguments: call.arguments.slice(0, half) }, index);
        return [content(piece({ tool_calls: [first] })), content(piece({ tool_calls: [rest] }))];
      }),
      frame(piece({}, chatFinish[answer.finish])),
      ...(answer.usage && withUsage ? [frame({ ...head, choices: [], usage: chatUsage(answer.usage) })] : []),
      frame("[DONE]"),
    ];
  },
};

const anthropicStop = {
  stop: "end_turn",
  length: "max_tokens",
  filter: "refusal",
  calls: "tool_use",
} as const;

const anthropicUsage = (usage: Required<ScriptedUsage> | undefined) => ({
  input_tokens: (usage?.input ?? 0) - (usage?.cached ?? 0),
  output_tokens: usage?.output ?? 0,
  cache_read_input_tokens: usage?.cached ?? 0,
  cache_creation_input_tokens: 0,
});

const anthropic: Wire = {
  whole: (answer) => ({
    id: answer.id,
    type: "message",
    role: "assistant",
    model: answer.model,
    content: [
      ...(answer.reasoning.length > 0
        ? [{ type: "thinking", thinking: answer.reasoning.join(""), signature: answer.signature ?? "" }]
        : []),
      ...(answer.text.length > 0 ? [{ type: "text", text: answer.text.join("") }] : []),
      ...answer.calls.map((call) => ({
        type: "tool_use",
        id: call.id,
        name: call.name,
        input: objectOf(call.arguments),
      })),
    ],
    stop_reason: anthropicStop[answer.finish],
    stop_sequence: null,
    usage: anthropicUsage(answer.usage),
  }),
  frames(answer) {
    const frames: Frame[] = [];
    let index = 0;
    const block = (start: unknown, deltas: readonly unknown[]) => {
      frames.push(frame({ type: "content_block_start", index, content_block: start }, "content_block_start"));
      for (const delta of deltas)
        frames.push(content({ type: "content_block_delta", index, delta }, "content_block_delta"));
      frames.push(frame({ type: "content_block_stop", index }, "content_block_stop"));
      index++;
    };
    const message = {
      id: answer.id,
      type: "message",
      role: "assistant",
      model: answer.model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { ...anthropicUsage(answer.usage), output_tokens: 1 },
    };
    frames.push(frame({ type: "message_start", message }, "message_start"));
    if (answer.reasoning.length > 0) {
      const thoughts = answer.reasoning.map((thinking) => ({ type: "thinking_delta", thinking }));
      const signature = { type: "signature_delta", signature: answer.signature ?? "" };
      block({ type: "thinking", thinking: "", signature: "" }, [...thoughts, signature]);
    }
    if (answer.text.length > 0)
      block(
        { type: "text", text: "" },
        answer.text.map((text) => ({ type: "text_delta", text })),
      );
    for (const call of answer.calls)
      block({ type: "tool_use", id: call.id, name: call.name, input: {} }, [
        { type: "input_json_delta", partial_json: call.arguments },
      ]);
    const delta = { stop_reason: anthropicStop[answer.finish], stop_sequence: null };
    const usage = { output_tokens: answer.usage?.output ?? 0 };
    frames.push(frame({ type: "message_delta", delta, usage }, "message_delta"));
    frames.push(frame({ type: "message_stop" }, "message_stop"));
    return frames;
  },
};

const responsesUsage = (usage: Required<ScriptedUsage>) => ({
  input_tokens: usage.input,
  input_tokens_details: { cached_tokens: usage.cached },
  output_tokens: usage.output,
  output_tokens_details: { reasoning_tokens: usage.reasoning },
  total_tokens: usage.input + usage.output,
});

function responsesOutput(answer: Answer): Record<string, unknown>[] {
  const reasoning = {
    type: "reasoning",
    id: `${answer.id}-thoughts`,
    encrypted_content: answer.signature ?? null,
    summary: [{ type: "summary_text", text: answer.reasoning.join("") }],
  };
  const text = { type: "output_text", text: answer.text.join(""), annotations: [], logprobs: [] };
  const message = {
    type: "message",
    id: `${answer.id}-text`,
    role: "assistant",
    status: "completed",
    content: [text],
  };
  return [
    ...(answer.reasoning.length > 0 ? [reasoning] : []),
    ...(answer.text.length > 0 ? [message] : []),
    ...answer.calls.map((call) => ({
      type: "function_call",
      id: `fc-${call.id}`,
      call_id: call.id,
      name: call.name,
      arguments: call.arguments,
      status: "completed",
    })),
  ];
}

const responses: Wire = {
  whole: (answer) => ({
    id: answer.id,
    object: "response",
    created_at: 1,
    model: answer.model,
    error: null,
    output: responsesOutput(answer),
    incomplete_details: answer.finish === "length" ? { reason: "max_output_tokens" } : null,
    ...(answer.usage ? { usage: responsesUsage(answer.usage) } : {}),
  }),
  frames(answer) {
    const typed = (type: string, fields: Record<string, unknown>, isContent = false): Frame => ({
      event: type,
      data: { type, ...fields },
      isContent,
    });
    const head = { id: answer.id, object: "response", created_at: 1, model: answer.model };
    const items = responsesOutput(answer).flatMap((item, output_index) => {
      const item_id = item.id;
      const at = { item_id, output_index };
      const deltas =
        item.type === "message"
          ? answer.text.map((delta) =>
              typed("response.output_text.delta", { ...at, content_index: 0, delta, logprobs: [] }, true),
            )
          : item.type === "reasoning"
            ? [
                typed("response.reasoning_summary_part.added", { ...at, summary_index: 0 }),
                ...answer.reasoning.map((delta) =>
                  typed("response.reasoning_summary_text.delta", { ...at, summary_index: 0, delta }, true),
                ),
              ]
            : [typed("response.function_call_arguments.delta", { ...at, delta: item.arguments }, true)];
      const bare =
        item.type === "function_call"
          ? { ...item, arguments: "" }
          : item.type === "message"
            ? { ...item, content: [] }
            : { ...item, summary: [] };
      return [
        typed("response.output_item.added", { output_index, item: bare }),
        ...deltas,
        typed("response.output_item.done", { output_index, item }),
      ];
    });
    const end = answer.finish === "length" ? "response.incomplete" : "response.completed";
    return [
      typed("response.created", { response: head }),
      ...items,
      typed(end, {
        response: {
          ...head,
          incomplete_details: answer.finish === "length" ? { reason: "max_output_tokens" } : null,
          usage: answer.usage ? responsesUsage(answer.usage) : { input_tokens: 0, output_tokens: 0 },
        },
      }),
    ];
  },
};

const googleFinish = { stop: "STOP", length: "MAX_TOKENS", filter: "SAFETY", calls: "STOP" } as const;

const googleUsage = (usage: Required<ScriptedUsage>) => ({
  promptTokenCount: usage.input,
  candidatesTokenCount: usage.output - usage.reasoning,
  thoughtsTokenCount: usage.reasoning,
  cachedContentTokenCount: usage.cached,
  totalTokenCount: usage.input + usage.output,
});

function googlePieces(answer: Answer): unknown[] {
  return [
    ...answer.reasoning.map((text) => ({ text, thought: true })),
    ...answer.text.map((text) => ({ text })),
    ...answer.calls.map((call) => ({
      functionCall: { name: call.name, args: objectOf(call.arguments) },
      ...(answer.signature ? { thoughtSignature: answer.signature } : {}),
    })),
  ];
}

/** A document has no pieces: one part for each kind of text. */
const joined = (answer: Answer): Answer => ({
  ...answer,
  text: answer.text.length > 0 ? [answer.text.join("")] : [],
  reasoning: answer.reasoning.length > 0 ? [answer.reasoning.join("")] : [],
});

const google: Wire = {
  whole: (answer) => ({
    candidates: [
      {
        content: { role: "model", parts: googlePieces(joined(answer)) },
        finishReason: googleFinish[answer.finish],
        index: 0,
      },
    ],
    ...(answer.usage ? { usageMetadata: googleUsage(answer.usage) } : {}),
  }),
  frames: (answer) => [
    ...googlePieces(answer).map((part) =>
      content({ candidates: [{ content: { role: "model", parts: [part] }, index: 0 }] }),
    ),
    frame({
      candidates: [
        {
          content: { role: "model", parts: [] },
          finishReason: googleFinish[answer.finish],
          index: 0,
        },
      ],
      ...(answer.usage ? { usageMetadata: googleUsage(answer.usage) } : {}),
    }),
  ],
};

export const wires: Readonly<Record<Dialect, Wire>> = { chat, responses, anthropic, google };
