// The model SDK's one door: reached by `await import("./sdk.ts")` only, when a model is asked. The build makes a file of
// its own from it, so that nothing else pays for it (scripts/build.mjs).

export { createAnthropic } from "@ai-sdk/anthropic";
export { createGoogleGenerativeAI } from "@ai-sdk/google";
export { createOpenAI } from "@ai-sdk/openai";
export { createOpenAICompatible } from "@ai-sdk/openai-compatible";
