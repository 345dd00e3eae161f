// Estimates against counts of the real tokenizer (o200k_base, taken once with gpt-tokenizer 4.0.0).

import { describe, expect, test } from "vitest";
import { estimateRequest, estimateTokens } from "../../../src/agent/models/estimate-tokens.ts";
import { asks, LOOK } from "./ports.ts";

const log = Array.from(
  { length: 40 },
  (_, i) =>
    `2026-11-29T06:0${i % 10}:1${i % 10}.${123 + i}Z ERROR [worker-${i}] request 0x${(i * 7919).toString(16)} failed: ECONNRESET 10.0.${i}.${i * 3} after ${i * 17}ms`,
).join("\n");

describe("S3: an estimate", () => {
  test.each<[string, string, number]>([
    [
      "English",
      "Every weekday at six in the evening, check the errors in this folder's logs and post a summary. If there are none, stay silent.",
      29,
    ],
    [
      "German",
      "Prüfe jeden Werktag um achtzehn Uhr die Fehler in den Protokollen dieses Ordners und veröffentliche eine Zusammenfassung.",
      29,
    ],
    [
      "Chinese",
      "每个工作日晚上六点检查这个文件夹里的日志错误，并发布一份摘要。如果没有错误，请保持安静。",
      27,
    ],
    [
      "Japanese",
      "毎週平日の午後六時に、このフォルダーのログにあるエラーを調べて、要約を投稿してください。",
      29,
    ],
    ["Korean", "평일 저녁 여섯 시마다 이 폴더의 로그 오류를 확인하고 요약을 올려 주세요.", 26],
    [
      "Russian",
      "Каждый будний день в шесть часов вечера проверяй ошибки в журналах этой папки и публикуй сводку.",
      30,
    ],
    ["Arabic", "تحقق من الأخطاء في سجلات هذا المجلد كل يوم عمل في الساعة السادسة مساءً وانشر ملخصًا.", 27],
    ["Hindi", "हर कार्यदिवस शाम छह बजे इस फ़ोल्डर के लॉग में त्रुटियाँ जाँचें और सारांश पोस्ट करें।", 29],
    ["a log", log, 1_816],
  ])("of %s is within 30 %% of the tokenizer's count", (_name, text, counted) => {
    const ratio = estimateTokens(text) / counted;
    expect(ratio).toBeGreaterThan(0.85);
    expect(ratio).toBeLessThan(1.3);
  });

  test("grows with the text, is never below it for nothing, and takes half a megabyte at once", () => {
    expect(estimateTokens("")).toBe(0);
    expect(estimateTokens("a")).toBe(1);
    expect(estimateTokens(log.repeat(100))).toBeGreaterThan(estimateTokens(log) * 99);
  });

  test("of a request counts its tools, and a call's arguments", () => {
    const plain = estimateRequest(asks("Go."));
    const withTools = estimateRequest(asks("Go.", { tools: [LOOK] }));
    expect(withTools - plain).toBeGreaterThan(20);
    const call = { id: "a", name: "look", arguments: JSON.stringify({ at: "word ".repeat(200) }) };
    const messages = [...asks("Go.").messages, { role: "assistant" as const, text: "", toolCalls: [call] }];
    expect(estimateRequest({ messages, tools: [] }) - plain).toBeGreaterThan(200);
  });
});
